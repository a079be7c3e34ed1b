"""Where documented commands are tried: an upstream on this machine, and a folder that looks
like a checkout."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from app.demo.catalog import catalog
from app.demo.client import SYSTEM
from app.demo.loopback import free_ports, serving
from app.demo.tasks import TASKS
from app.demo.upstream import Upstream
from app.tokens import load_counter
from docs.blocks import ROOT
from tests.endpoints import vector
from tests.stores import executable

_DATA, _ADMIN = ("8080", "8082"), ("9090", "9092")
REDIS = "6379"
_UPSTREAMS = ("4000", "8000", "8081", "11434")
"""Ports in the documentation: of Toolfolds, of a Redis, and of whatever is an upstream here."""
_OPENAI = "https://api.openai.com/v1"
_NOT_HERE = {".git", ".venv", "CHANGELOG.md"}


@dataclass(frozen=True)
class Stage:
    """A folder to work in, and addresses in the place of those in the text."""

    folder: Path
    upstream: str
    ports: dict[str, str]

    def translated(self, text: str) -> str:
        """A text with the addresses of this stage."""
        text = text.replace(_OPENAI, self.upstream)
        known = "|".join(self.ports)
        return re.sub(rf"(?<!\d)({known})(?!\d)", lambda found: self.ports[found[1]], text)

    def environ(self) -> dict[str, str]:
        """The environment of every command."""
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("TOOLFOLD_", "OTEL_", "LIVE_"))
            and not key.lower().endswith("_proxy")
        }
        return kept | {
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(self.folder),
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "MAKEFLAGS": f"-- VENV={self.folder / 'venv'}",
            "OPENAI_API_KEY": "sk-docs",
            "TOOLFOLD_UPSTREAM_BASE_URL": self.upstream,
            "TOOLFOLD_PORT": self.ports[_DATA[0]],
            "TOOLFOLD_ADMIN_PORT": self.ports[_ADMIN[0]],
            "TOOLFOLD_DRAIN_DELAY": "0",
            "TOOLFOLD_GRACE": "1",
        }

    def admin_port(self, command: str) -> int:
        """Where the Toolfold that a command starts says that it is ready."""
        named = re.search(r"(?:--admin-port |TOOLFOLD_ADMIN_PORT=)(\d+)", command)
        return int(named[1] if named else self.ports[_ADMIN[0]])


@contextmanager
def stage(folder: Path, *, redis: bool = False) -> Iterator[Stage]:
    """A stage for one page, with a Redis where the page speaks of one."""
    _furnish(folder)
    with ExitStack() as stack:
        url = stack.enter_context(serving(_upstream()))
        own = dict(zip((*_DATA, *_ADMIN, REDIS), map(str, free_ports(5)), strict=True))
        upstream = {port: url.rpartition(":")[2] for port in _UPSTREAMS}
        if redis:
            stack.enter_context(_redis(own[REDIS], folder))
        yield Stage(folder, f"{url}/v1", own | upstream)


def example_request(tools: int) -> dict[str, Any]:
    """So many tools, and a question for one of them. With 100 it is the `request.json` of the
    documentation."""
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": TASKS[0].ask}]
    return {"model": "demo-model", "messages": messages, "tools": catalog(tools)}


@contextmanager
def _redis(port: str, folder: Path) -> Iterator[None]:
    arguments = ["--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    process = subprocess.Popen([executable(), *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        while "Ready to accept connections" not in process.stdout.readline():
            assert process.poll() is None, "the Redis server has ended"
        yield
    finally:
        process.terminate()
        process.communicate()


def _furnish(folder: Path) -> None:
    """What stands in a checkout, the commands of this installation, and a request."""
    for path in ROOT.iterdir():
        if path.name not in _NOT_HERE and not path.name.startswith("."):
            (folder / path.name).symlink_to(path)
    (folder / "request.json").write_text(json.dumps(example_request(100)))
    commands = {"toolfold": "-m app", "python": "", "python3": ""}
    for place in (folder / "bin", folder / "venv" / "bin"):
        place.mkdir(parents=True)
        for name, arguments in commands.items():
            script = place / name
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
            script.chmod(0o755)
    for name in ("demo.stamp", "dev.stamp"):  # newer than pyproject.toml: nothing to install
        (folder / "venv" / name).touch()


def _upstream() -> Starlette:
    """Chat completions as OpenAI serves them, and the other endpoints that pages speak of."""
    return Starlette(
        routes=[
            Route("/v1/models", _models),
            Route("/v1/embeddings", _embeddings, methods=["POST"]),
            Route("/v1/responses", _responses, methods=["POST"]),
            Mount("/", Upstream(load_counter())),
        ]
    )


async def _models(_: Request) -> Response:
    return JSONResponse({"object": "list", "data": [{"id": "demo-model", "object": "model"}]})


async def _embeddings(request: Request) -> Response:
    asked = await request.json()
    data = [
        {"object": "embedding", "index": at, "embedding": vector(text)}
        for at, text in enumerate(asked["input"])
    ]
    return JSONResponse({"object": "list", "data": data, "model": asked["model"]})


async def _responses(request: Request) -> Response:
    asked = await request.json()
    part = {"type": "output_text", "text": "Hello.", "annotations": []}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    beside = {"object": "response", "created_at": 1, "status": "completed", "tools": []}
    return JSONResponse(
        {"id": "resp_1", "model": asked["model"], "output": [said | {"content": [part]}]} | beside
    )
