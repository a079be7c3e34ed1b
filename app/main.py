"""Composition: everything is built here, from settings, and handed to who needs it."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager
from urllib.parse import urlsplit

import httpx2
import structlog
import uvicorn
from fastapi import FastAPI

from app.admin import create_admin
from app.api import Api
from app.breaker import Breaker
from app.catalogs import Catalogs
from app.rankers import Remote
from app.rankers.endpoint import Endpoint
from app.rankers.rankers import Rankers
from app.settings import Settings
from app.stores import NoStore, Store
from app.stores.fallback import FallbackStore
from app.stores.memory import MemoryStore
from app.telemetry import configure_logging
from app.telemetry.metrics import Metrics
from app.telemetry.provider import provider_of
from app.telemetry.recent import Recent
from app.telemetry.telemetry import SpanSink, Telemetry
from app.tokens import load_counter
from app.upstream import Upstream

_MEGABYTE = 1024 * 1024


def create_app(settings: Settings, telemetry: Telemetry | None = None) -> FastAPI:
    """The data port's application."""
    telemetry = telemetry or create_telemetry(settings)
    upstream = Upstream(settings.upstream_base_url, _transport(settings), _timeouts(settings))
    catalogs = Catalogs(load_counter(), settings.catalog_cache_mb * _MEGABYTE)
    rankers = create_rankers(settings)
    breaker = Breaker()
    store = _store(settings, breaker)
    telemetry.watch("state_degraded", lambda: breaker.is_open)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await upstream.aclose()
        await rankers.aclose()
        await store.aclose()
        await telemetry.flush()

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    policy, patience = settings.policy(), settings.head_after
    app.mount("/", Api(upstream, catalogs, rankers, store, policy, patience, telemetry))
    return app


def create_telemetry(settings: Settings) -> Telemetry:
    """The log, the metrics, the numbers of the page and, where there is a collector, spans."""
    provider = provider_of(settings.upstream_base_url)
    most_tenants, most_models = settings.metrics_tenants, settings.metrics_models
    metrics = Metrics(most_tenants=most_tenants, most_models=most_models, provider=provider)
    recent = Recent(most_tenants=most_tenants)
    return Telemetry(metrics, recent, settings.alarm_after, _spans(settings, provider))


def _spans(settings: Settings, provider: str) -> SpanSink | None:
    if not settings.otlp_endpoint:
        return None
    try:
        from app.telemetry.spans import Server, Spans, exporter
    except ImportError:  # the variable may be there for others: no reason not to serve
        structlog.get_logger().warning("no_spans", install="toolfold[otel]")
        return None
    url = urlsplit(settings.upstream_base_url)
    port = url.port or (443 if url.scheme == "https" else 80)
    return Spans(exporter(settings.otlp_endpoint), Server(provider, url.hostname or "", port))


async def serve(settings: Settings) -> None:
    """Both ports, until SIGINT or SIGTERM."""
    configure_logging(settings.log_level)
    telemetry = create_telemetry(settings)
    servers = [
        _Server(server_config(create_app(settings, telemetry), settings.host, settings.port)),
        _Server(server_config(create_admin(telemetry), settings.admin_host, settings.admin_port)),
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


def create_rankers(settings: Settings, breaker: Breaker | None = None) -> Rankers:
    """The rankers that a policy may name."""
    breaker = breaker or Breaker()
    if not settings.ranker_url:
        return Rankers({}, settings.ranker_timeout, breaker)
    from app.rankers.embeddings import Embeddings  # numpy takes 30 MB
    from app.rankers.plain import Plain
    from app.rankers.rerank import Rerank
    from app.rankers.vectors import Vectors

    upstream = Upstream(settings.ranker_url, _transport(settings), _timeouts(settings))

    def endpoint(target: bytes) -> Endpoint:
        return Endpoint(upstream, target, settings.ranker_key.get_secret_value())

    model, memory = settings.ranker_model, settings.ranker_cache_mb * _MEGABYTE
    remotes: tuple[Remote, ...] = (
        Embeddings(Vectors(endpoint(b"/embeddings"), model, memory)),
        Rerank(endpoint(b"/rerank"), model),
        Plain(endpoint(b"")),
    )
    by_name = {remote.name: remote for remote in remotes}
    return Rankers(by_name, settings.ranker_timeout, breaker)


def _store(settings: Settings, breaker: Breaker) -> Store:
    if settings.store == "none":
        return NoStore()
    local = MemoryStore(settings.store_mb * _MEGABYTE, settings.store_entries, settings.store_ttl)
    if settings.store == "memory":
        return local
    from app.stores.shared import SharedStore  # its driver is an extra

    shared = SharedStore(settings.redis_url, settings.store_ttl, settings.redis_timeout)
    return FallbackStore(shared, local, breaker)


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
