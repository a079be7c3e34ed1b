"""Composition: everything is built here, from settings, and handed to who needs it."""

import asyncio
import gc
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx2
import structlog
import uvicorn
from fastapi import FastAPI

from app.admin import create_admin
from app.admission import Admission
from app.api import Api
from app.breaker import Breaker
from app.catalogs import Catalogs
from app.guard import Guard
from app.identity import Identity
from app.learned import Learned
from app.lifecycle import Lifecycle, Server, listener
from app.planner import Planner
from app.policies import Policies
from app.policies.watch import PolicyFile
from app.protocol import Deadlines, strict
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
from app.tenants import anybody, check_open, read_policies
from app.tokens import load_counter
from app.upstream import Timeouts, Upstream

_MEGABYTE = 1024 * 1024
_HAND_OVER = 0.0005
"""Seconds after which a thread that compiles a catalog lets the event loop run, ten times sooner
than Python's own: one request asks for that a dozen times."""


def create_app(settings: Settings, telemetry: Telemetry | None = None) -> FastAPI:
    """The data port's application. Raises Invalid and Unsafe."""
    telemetry = telemetry or create_telemetry(settings)
    upstream = create_upstream(settings)
    catalogs = Catalogs(load_counter(), settings.catalog_cache_mb * _MEGABYTE)
    rankers = create_rankers(settings)
    breaker = Breaker()
    store = _store(settings, breaker)
    telemetry.watch("state_degraded", lambda: breaker.is_open)
    identity, file = _identity(settings, telemetry)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(file.watch()) if file else None
        yield
        if watching:
            watching.cancel()
        await upstream.aclose()
        await rankers.aclose()
        await store.aclose()
        await telemetry.flush()

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    api = Api(
        upstream,
        Planner(catalogs, rankers, Learned(settings.traits())),
        rankers,
        store,
        identity,
        _admission(settings),
        patience=settings.head_after,
        telemetry=telemetry,
        comment_after=settings.comment_after,
        operators_key=settings.operators_key.encode(),
    )
    app.mount("/", api)
    app.state.policy_file = file
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
        from app.telemetry.spans import Server as SpanServer
        from app.telemetry.spans import Spans, exporter
    except ImportError:  # the variable may be there for others: no reason not to serve
        structlog.get_logger().warning("no_spans", install="toolfold[otel]")
        return None
    url = urlsplit(settings.upstream_base_url)
    port = url.port or (443 if url.scheme == "https" else 80)
    return Spans(exporter(settings.otlp_endpoint), SpanServer(provider, url.hostname or "", port))


def create_upstream(settings: Settings) -> Upstream:
    """The upstream, with a pool of connections of its own."""
    return Upstream(settings.upstream_base_url, _transport(settings), _timeouts(settings))


async def serve(settings: Settings) -> None:
    """Both ports, until SIGINT or SIGTERM. Raises Invalid, Unsafe, and OSError where a port is
    taken."""
    configure_logging(settings.log_level)
    telemetry = create_telemetry(settings)
    app = create_app(settings, telemetry)
    sys.setswitchinterval(_HAND_OVER)
    gc.freeze()  # what stays for ever need not be looked through again and again
    listeners = (
        listener(settings.host, settings.port),
        listener(settings.admin_host, settings.admin_port),
    )
    lifecycle = Lifecycle(settings.drain_delay)
    telemetry.watch("draining", lambda: lifecycle.is_draining)
    if app.state.policy_file is not None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGHUP, app.state.policy_file.ask)
    data = server_config(app, settings)
    admin = server_config(create_admin(lifecycle.is_ready, telemetry), settings)
    await lifecycle.run(Server(data), Server(admin), listeners)


def _identity(settings: Settings, telemetry: Telemetry) -> tuple[Identity, PolicyFile | None]:
    """Who asks, as the settings and the policy file say, and the file."""
    check_open(settings)
    policies = Policies(anybody(settings))
    identity = Identity(policies, settings.trusted_peers, strict=settings.strict_headers)
    if not settings.policy_file:
        return identity, None

    def apply(policies: Policies) -> None:
        identity.policies = policies
        telemetry.know(policies.by_name)

    def read(raw: bytes) -> Policies:
        return read_policies(raw, settings)

    file = PolicyFile(settings.policy_file, read, apply, tell=telemetry.metrics.reloaded)
    file.load()
    return identity, file


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
