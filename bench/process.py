"""A process of its own session: started, waited for, weighed, and stopped with all its children."""

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import IO

_START_SECONDS = 60
_STOP_SECONDS = 10


class NotStarted(Exception):
    """A process that ended, or was silent, before it was ready."""


@dataclass(frozen=True)
class Process:
    """One that is running; its group has its number."""

    pid: int

    def resident(self) -> int:
        """Bytes in memory, of the process and its children."""
        return sum(size for group, size in _sizes() if group == self.pid)


@contextmanager
def running(
    command: Sequence[str], *, port: int, path: str = "/", environ: Mapping[str, str] | None = None
) -> Iterator[Process]:
    """Run the command; ready once `GET path` on its port says 200."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=_environ() | dict(environ or {}),
            start_new_session=True,
        )
        try:
            _await_ready(process, port, path, output)
            yield Process(process.pid)
        finally:
            _stop(process)


def free_port() -> int:
    """One that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port: int = bound.getsockname()[1]
        return port


def _environ() -> dict[str, str]:
    """Ours, without what would make this run differ from another's."""
    return {name: text for name, text in os.environ.items() if not name.startswith("TOOLFOLD_")}


def _await_ready(process: subprocess.Popen[bytes], port: int, path: str, output: IO[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not _answers(port, path):
        if process.poll() is not None or time.monotonic() > deadline:
            output.seek(0)
            said = output.read()[-2000:].decode(errors="replace")
            raise NotStarted(f"`{process.args!r}` did not become ready:\n{said}")
        time.sleep(0.05)


def _answers(port: int, path: str) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _stop(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_STOP_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _sizes() -> Iterator[tuple[int, int]]:
    """Group and resident bytes of every process."""
    if not Path("/proc/self/stat").exists():
        yield from _sizes_by_ps()
        return
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            fields = stat.read_text().rpartition(")")[2].split()
            yield int(fields[2]), int(fields[21]) * os.sysconf("SC_PAGE_SIZE")


def _sizes_by_ps() -> Iterator[tuple[int, int]]:
    listing = subprocess.run(["ps", "-Ao", "pgid=,rss="], capture_output=True, check=True)
    for line in listing.stdout.splitlines():
        group, kilobytes = line.split()
        yield int(group), int(kilobytes) * 1024
