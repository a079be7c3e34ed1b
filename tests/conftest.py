"""Fixtures: a Toolfold on a real socket in front of a scripted upstream."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from uvicorn.server import ServerState

from app.main import create_app, create_telemetry, server_config
from app.settings import Settings
from app.telemetry.telemetry import Telemetry
from app.tokens import load_counter
from tests.upstream import Scripted, Upstream, upstream

# Machines are shared and slow at times: how long an example takes says nothing.
hypothesis_settings.register_profile(
    "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("patient")


class Proxy:
    """A running Toolfold, the upstream behind it, and a plain HTTP client."""

    def __init__(
        self, url: str, behind: Upstream, client: httpx2.AsyncClient, telemetry: Telemetry
    ) -> None:
        self.url = url
        self.telemetry = telemetry
        self.upstream = behind
        self.client = client

    async def post(
        self, content: bytes, path: str = "/chat/completions", **headers: str
    ) -> httpx2.Response:
        """Send a body as it is."""
        sent = {"content-type": "application/json", "authorization": "Bearer key", **headers}
        return await self.client.post(self.url + path, content=content, headers=sent)


@asynccontextmanager
async def running(settings: Settings, telemetry: Telemetry | None = None) -> AsyncIterator[str]:
    """Toolfold on a free port; its base URL. The protocol is uvicorn's; its server, which
    looks every tenth of a second whether it should stop, is left out."""
    app = create_app(settings, telemetry)
    config = server_config(app, settings)
    config.load()
    state = ServerState()

    def connect() -> asyncio.Protocol:
        protocol: Any = config.http_protocol_class
        made: asyncio.Protocol = protocol(config=config, server_state=state, app_state={})
        return made

    async with app.router.lifespan_context(app):
        server = await asyncio.get_running_loop().create_server(connect, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        finally:
            server.close()
            for connection in list(state.connections):
                connection.shutdown()
            await asyncio.gather(*state.tasks, return_exceptions=True)
            while state.connections:  # noqa: ASYNC110 (closed in the next rounds of the loop)
                await asyncio.sleep(0)


StartProxy = Callable[..., AbstractAsyncContextManager[Proxy]]


@asynccontextmanager
async def start_proxy(
    *script: Scripted, telemetry: Telemetry | None = None, **settings: Any
) -> AsyncIterator[Proxy]:
    """A Toolfold before an upstream with this script; it folds whatever can be folded. Where a
    dialect is spoken, the upstream refuses tools and only writes text."""
    dialect = settings.get("dialect", "native")
    async with upstream(*script, text_only="" if dialect == "native" else dialect) as behind:
        chosen = Settings(upstream_base_url=behind.url, **({"mode": "on"} | settings))
        told = telemetry or create_telemetry(chosen)
        async with (
            running(chosen, told) as url,
            httpx2.AsyncClient(timeout=20, verify=False) as client,
        ):
            yield Proxy(url, behind, client, told)


@pytest.fixture(scope="session")
def count() -> Callable[[str], int]:
    """Tokens of a text."""
    return load_counter()
