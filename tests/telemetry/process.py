"""A Toolfold as a process of its own, with all that it writes."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from signal import SIGTERM

import httpx2

from tests.stores import free_port


@dataclass
class Process:
    """Where it is served, and what it has written once it is over."""

    url: str
    admin: str
    written: bytes = b""
    code: int | None = None


@asynccontextmanager
async def process(base_url: str, **env: str) -> AsyncIterator[Process]:
    """`toolfold serve` before an upstream, until the block ends."""
    port, admin = free_port(), free_port()
    flags = ["--upstream", base_url, "--port", str(port), "--admin-port", str(admin)]
    started = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "app", "serve", *flags),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={"PATH": os.defpath, "PYTHONPATH": ":".join(sys.path), "TOOLFOLD_MODE": "on", **env},
    )
    assert started.stdout is not None
    made = Process(f"http://127.0.0.1:{port}/v1", f"http://127.0.0.1:{admin}")
    reading = asyncio.create_task(started.stdout.read())
    try:
        await _ready(made.admin)
        await _ready(f"http://127.0.0.1:{port}")
        yield made
        started.send_signal(SIGTERM)
        async with asyncio.timeout(30):
            made.code = await started.wait()
            made.written = await reading
    finally:
        reading.cancel()
        with suppress(ProcessLookupError):
            started.kill()
        await started.wait()


async def _ready(url: str) -> None:
    """Both ports open at about the same time: whoever answers with anything is there."""
    async with asyncio.timeout(60), httpx2.AsyncClient() as client:
        while True:
            try:
                await client.get(url + "/healthz")
            except httpx2.HTTPError:
                await asyncio.sleep(0.05)  # nothing tells of a port that opens elsewhere
            else:
                return
