"""Composition: everything is built here, from settings, and handed to who needs it."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager

import httpx2
import structlog
import uvicorn
from fastapi import FastAPI

from app.admin import create_admin
from app.api import Api
from app.catalogs import Catalogs
from app.learned import Learned
from app.settings import Settings
from app.stores import NoStore, Store
from app.stores.fallback import FallbackStore
from app.stores.memory import MemoryStore
from app.telemetry import configure_logging
from app.tokens import load_counter
from app.upstream import Upstream

_MEGABYTE = 1024 * 1024


def create_app(settings: Settings) -> FastAPI:
    """The data port's application."""
    upstream = Upstream(settings.upstream_base_url, _transport(settings), _timeouts(settings))
    catalogs = Catalogs(load_counter(), settings.catalog_cache_mb * _MEGABYTE)
    store = _store(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await upstream.aclose()
        await store.aclose()

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    learned = Learned(settings.traits())
    app.mount("/", Api(upstream, catalogs, store, settings.policy(), settings.head_after, learned))
    return app


async def serve(settings: Settings) -> None:
    """Both ports, until SIGINT or SIGTERM."""
    configure_logging(settings.log_level)
    servers = [
        _Server(server_config(create_app(settings), settings.host, settings.port)),
        _Server(server_config(create_admin(), settings.admin_host, settings.admin_port)),
    ]
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signum, _stop, servers)
    await asyncio.gather(*(server.serve() for server in servers))


class _Server(uvicorn.Server):
    """A server that leaves the signals to us, since there are two of them in the process, and
    that says where it listens once it does."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            bound = [one.getsockname()[:2] for server in self.servers for one in server.sockets]
            structlog.get_logger().info("listening", addresses=[f"{h}:{p}" for h, p in bound])

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def _stop(servers: list[_Server]) -> None:
    for server in servers:
        server.should_exit = True


def server_config(app: FastAPI, host: str, port: int) -> uvicorn.Config:
    """How uvicorn serves either port: the strict parser, and no header of its own."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http="h11",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
    )


def _store(settings: Settings) -> Store:
    if settings.store == "none":
        return NoStore()
    local = MemoryStore(settings.store_mb * _MEGABYTE, settings.store_entries, settings.store_ttl)
    if settings.store == "memory":
        return local
    from app.stores.shared import SharedStore  # its driver is an extra

    shared = SharedStore(settings.redis_url, settings.store_ttl, settings.redis_timeout)
    return FallbackStore(shared, local)


def _transport(settings: Settings) -> httpx2.AsyncHTTPTransport:
    return httpx2.AsyncHTTPTransport(
        trust_env=False,
        limits=httpx2.Limits(
            max_connections=settings.max_connections,
            max_keepalive_connections=settings.max_connections,
        ),
    )


def _timeouts(settings: Settings) -> dict[str, float]:
    return {
        "connect": settings.connect_timeout,
        "pool": settings.connect_timeout,
        "read": settings.read_timeout,
        "write": settings.read_timeout,
    }
