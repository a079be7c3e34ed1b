"""Fixtures: a Toolfold on a real socket in front of a scripted upstream."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
import pytest
import uvicorn
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from app.main import create_app, server_config
from app.settings import Settings
from app.tokens import load_counter
from tests.upstream import Scripted, Upstream, upstream

# Machines are shared and slow at times: how long an example takes says nothing.
hypothesis_settings.register_profile(
    "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("patient")


class Proxy:
    """A running Toolfold, the upstream behind it, and a plain HTTP client."""

    def __init__(self, url: str, behind: Upstream, client: httpx2.AsyncClient) -> None:
        self.url = url
        self.upstream = behind
        self.client = client

    async def post(
        self, content: bytes, path: str = "/chat/completions", **headers: str
    ) -> httpx2.Response:
        """Send a body as it is."""
        sent = {"content-type": "application/json", "authorization": "Bearer key", **headers}
        return await self.client.post(self.url + path, content=content, headers=sent)


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[str]:
    """Toolfold on a free port; its base URL."""
    bound = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(server_config(create_app(settings), "127.0.0.1", 0))
    server.config.load()
    task = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        await task


StartProxy = Callable[..., AbstractAsyncContextManager[Proxy]]


@asynccontextmanager
async def start_proxy(*script: Scripted, **settings: Any) -> AsyncIterator[Proxy]:
    """A Toolfold before an upstream with this script; it folds whatever can be folded."""
    async with upstream(*script) as behind:
        chosen = Settings(upstream_base_url=behind.url, **({"mode": "on"} | settings))
        async with running(chosen) as url, httpx2.AsyncClient(timeout=20) as client:
            yield Proxy(url, behind, client)


@pytest.fixture(scope="session")
def count() -> Callable[[str], int]:
    """Tokens of a text."""
    return load_counter()
