"""A real process, `toolfold serve`, in front of the scripted upstream."""

import asyncio
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import httpx2

from bench.process import free_port
from tests.test_cli import CLEAN
from tests.upstream import Scripted, Upstream, upstream

_START_SECONDS = 90


@dataclass
class Replica:
    """A process that serves."""

    process: asyncio.subprocess.Process
    port: int
    admin_port: int
    upstream: Upstream
    client: httpx2.AsyncClient
    _log: IO[bytes]

    @property
    def url(self) -> str:
        """The base URL for apps."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def admin(self) -> str:
        """The URL of the admin port."""
        return f"http://127.0.0.1:{self.admin_port}"

    def log(self) -> str:
        """What it has written so far."""
        return Path(self._log.name).read_text()

    def resident(self) -> int:
        """Bytes in memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024

    def files(self) -> int:
        """Open files and sockets."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    async def post(
        self, content: bytes, path: str = "/chat/completions", **headers: str
    ) -> httpx2.Response:
        """Send a body as it is."""
        sent = {"content-type": "application/json", "authorization": "Bearer key", **headers}
        return await self.client.post(self.url + path, content=content, headers=sent)

    async def leave(self, patience: float) -> int:
        """Tell it to leave; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return await asyncio.wait_for(self.process.wait(), patience)


@asynccontextmanager
async def serving(*script: Scripted, **settings: object) -> AsyncIterator[Replica]:
    """A process before an upstream of its own with this script; it folds what can be."""
    async with upstream(*script) as behind, started(behind, **settings) as replica:
        yield replica


@asynccontextmanager
async def started(behind: Upstream, **settings: object) -> AsyncIterator[Replica]:
    """A process that is ready; killed at the end if it has not left by then. An underscore in a
    setting's name is a dash in its flag; one that is True is a flag alone."""
    ports = {"port": free_port(), "admin_port": free_port()}
    flags = {"upstream": behind.url, "mode": "on", **ports, **settings}
    command = [sys.executable, "-m", "app", "serve"]
    for name, value in flags.items():
        command += [f"--{name.replace('_', '-')}"] if value is True else [_flag(name, value)]
    with tempfile.NamedTemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(*command, env=CLEAN, stderr=log)
        try:
            async with httpx2.AsyncClient(timeout=60, trust_env=False) as client:
                numbers = int(str(flags["port"])), int(str(flags["admin_port"]))
                replica = Replica(process, *numbers, behind, client, log)
                await _ready(replica)
                yield replica
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _flag(name: str, value: object) -> str:
    return f"--{name.replace('_', '-')}={value}"


async def _ready(replica: Replica) -> None:
    async with asyncio.timeout(_START_SECONDS):
        while True:
            with suppress(httpx2.TransportError):
                if (await replica.client.get(replica.admin + "/readyz")).status_code == 200:
                    return
            assert replica.process.returncode is None, replica.log()
            await asyncio.sleep(0.05)
