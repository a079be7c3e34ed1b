"""Toolfold itself, started as an operator starts it: `toolfold serve`, a process of its own."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from app.demo.loopback import HOST, free_ports

_DEADLINE = 30.0
_ROOT = Path(__file__).parents[2]


class NotStarted(Exception):
    """Toolfold did not become ready; the message holds what it printed."""


@contextmanager
def toolfold(upstream: str, *flags: str, ports: Sequence[int] = ()) -> Iterator[str]:
    """Run Toolfold in front of an upstream's base URL, with more flags, and yield its own. Two
    ports are given where several are started at once, so that no two take the same."""
    port, admin_port = ports or free_ports(2)
    options = {"--upstream": upstream, "--host": HOST, "--port": port, "--admin-port": admin_port}
    words = [str(word) for option in options.items() for word in option]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "app", "serve", *words, *flags],
            cwd=_ROOT,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_until_ready(process, f"http://{HOST}:{admin_port}/readyz", log=log)
            yield f"http://{HOST}:{port}/v1"
        finally:
            _stop(process)


def _environment() -> dict[str, str]:
    """The user's environment without their Toolfold settings: the demo shows the defaults."""
    return {key: value for key, value in os.environ.items() if not key.startswith("TOOLFOLD_")}


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, *, log: IO[str]) -> None:
    deadline = time.monotonic() + _DEADLINE
    while process.poll() is None and time.monotonic() < deadline:
        if _answers(url):
            return
        time.sleep(0.05)
    log.seek(0)
    raise NotStarted(f"Toolfold did not become ready. It printed:\n{log.read()}")


def _answers(url: str) -> bool:
    # A proxy in the environment is for the internet, not for this machine.
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(url, timeout=1) as response:
            return bool(response.status == 200)
    except (URLError, OSError):
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
