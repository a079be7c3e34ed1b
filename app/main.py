"""Composition: everything is built here, from settings, and handed to who needs it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import uvicorn
from fastapi import FastAPI

from app.admin import create_admin
from app.admission import Admission
from app.api import Api
from app.catalogs import Catalogs
from app.guard import Guard
from app.lifecycle import Lifecycle, Server, listener
from app.protocol import Deadlines, strict
from app.settings import Settings
from app.stores import NoStore, Store
from app.stores.fallback import FallbackStore
from app.stores.memory import MemoryStore
from app.telemetry import configure_logging
from app.tokens import load_counter
from app.upstream import Timeouts, Upstream

_MEGABYTE = 1024 * 1024


def create_app(settings: Settings) -> FastAPI:
    """The data port's application."""
    upstream = create_upstream(settings)
    catalogs = Catalogs(load_counter(), settings.catalog_cache_mb * _MEGABYTE)
    store = _store(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await upstream.aclose()
        await store.aclose()

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    api = Api(
        upstream,
        catalogs,
        store,
        settings.policy(),
        _admission(settings),
        patience=settings.head_after,
        comment_after=settings.comment_after,
    )
    app.mount("/", api)
    return app


def create_upstream(settings: Settings) -> Upstream:
    """The upstream, with a pool of connections of its own."""
    return Upstream(settings.upstream_base_url, _transport(settings), _timeouts(settings))


async def serve(settings: Settings) -> None:
    """Both ports, until SIGINT or SIGTERM. Raises OSError where one is taken."""
    configure_logging(settings.log_level)
    listeners = (
        listener(settings.host, settings.port),
        listener(settings.admin_host, settings.admin_port),
    )
    lifecycle = Lifecycle(settings.drain_delay)
    data = server_config(create_app(settings), settings)
    admin = server_config(create_admin(lifecycle.is_ready), settings)
    await lifecycle.run(Server(data), Server(admin), listeners)


def server_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """How uvicorn serves either port: strictly, and with no header of its own."""
    deadlines = Deadlines(settings.header_timeout, settings.body_timeout, settings.send_timeout)
    return uvicorn.Config(
        Guard(app),
        http=strict(deadlines),
        timeout_keep_alive=settings.keep_alive,
        timeout_graceful_shutdown=settings.grace,
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


def _admission(settings: Settings) -> Admission:
    held, largest = settings.inflight_mb * _MEGABYTE, settings.body_mb * _MEGABYTE
    return Admission(settings.max_inflight, held, largest)


def _transport(settings: Settings) -> httpx2.AsyncHTTPTransport:
    return httpx2.AsyncHTTPTransport(
        trust_env=False,
        limits=httpx2.Limits(
            max_connections=settings.max_connections,
            max_keepalive_connections=settings.max_connections,
        ),
        retries=1,  # of the connect alone, before the upstream has heard of the request
    )


def _timeouts(settings: Settings) -> Timeouts:
    return Timeouts(
        settings.connect_timeout,
        settings.first_byte_timeout,
        settings.read_timeout,
        settings.total_timeout,
    )
