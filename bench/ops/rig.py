"""What checks share: a running server, bytes on sockets, Debian's packages, bodies."""

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager, suppress

import httpx2

from app.settings import Settings
from bench.ops.check import NotRun
from tests.builders import body, call, events, reply, search, streamed, tool
from tests.replica import Replica, serving, started
from tests.upstream import Raw, Received, Upstream, upstream
from tests.wire import connected, exchange, statuses

__all__ = [
    "JSON",
    "MEGABYTE",
    "OK",
    "Clock",
    "Raw",
    "Received",
    "Replica",
    "Upstream",
    "body",
    "call",
    "connected",
    "events",
    "exchange",
    "head",
    "health",
    "needs_setting",
    "open_stream",
    "package",
    "raced",
    "reply",
    "search",
    "serving",
    "started",
    "statuses",
    "streamed",
    "tool",
    "upstream",
]

JSON = "application/json"
MEGABYTE = 1024 * 1024
OK = Raw(b"{}", 200, JSON)
_SBIN = "/usr/local/sbin:/usr/sbin:/sbin"
_installed: dict[str, bool] = {}


class Clock:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began


def head(content: bytes, *headers: bytes, path: bytes = b"/v1/chat/completions") -> bytes:
    """The head of a POST of this body, with the body."""
    length = [b"content-length: %d" % len(content)]
    if any(one.lower().startswith((b"content-length", b"transfer-encoding")) for one in headers):
        length = []
    lines = [b"POST " + path + b" HTTP/1.1", b"host: a", *length, *headers]
    return b"\r\n".join([*lines, b"", content])


async def health(replica: Replica, until: asyncio.Event) -> float:
    """Ask for life until the event is set; the longest answer in seconds."""
    worst = 0.0
    async with httpx2.AsyncClient(trust_env=False, timeout=30) as client:
        while not until.is_set():
            clock = Clock()
            answered = await client.get(replica.admin + "/healthz")
            worst = max(worst, clock.seconds if answered.status_code == 200 else 99)
            with suppress(TimeoutError):
                async with asyncio.timeout(0.005):
                    await until.wait()
    return worst


@asynccontextmanager
async def open_stream(replica: Replica, content: bytes) -> AsyncIterator[asyncio.StreamReader]:
    """A chat request on a connection of its own that hangs up at the end of the block."""
    async with connected(replica.url) as (reader, writer):
        writer.write(head(content))
        yield reader


async def raced(coroutines: Iterable[Awaitable[object]], at_once: int) -> None:
    """Run them, so many at a time."""
    gate = asyncio.Semaphore(at_once)

    async def run(one: Awaitable[object]) -> None:
        async with gate:
            await one

    await asyncio.gather(*(run(one) for one in coroutines))


def needs_setting(name: str, feature: str) -> None:
    """Raises NotRun where this build has no such setting."""
    if name not in Settings.model_fields:
        raise NotRun(f"this build has no {feature}")


def package(name: str, program: str) -> str:
    """The path of a program of a Debian package, installed where that may be. Raises NotRun."""
    found = shutil.which(program, path=f"{os.environ.get('PATH', '')}:{_SBIN}")
    if found is None and name not in _installed:
        _installed[name] = _install(name)
        found = shutil.which(program, path=f"{os.environ.get('PATH', '')}:{_SBIN}")
    if found is None:
        raise NotRun(f"Debian's package {name} is not installed and cannot be")
    return found


def _install(name: str) -> bool:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    quiet = {"DEBIAN_FRONTEND": "noninteractive", "PATH": f"{os.environ['PATH']}:{_SBIN}"}
    for command in (["update", "-qq"], ["install", "-qq", "-y", "--no-install-recommends", name]):
        ended = subprocess.run(
            ["apt-get", *command], env=quiet, capture_output=True, timeout=600, check=False
        )
        if ended.returncode:
            return False
    return True
