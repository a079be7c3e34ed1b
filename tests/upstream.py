"""The one fake: an upstream on a real socket that plays a script and remembers what came.

It speaks raw HTTP/1.1, because what matters here (a cut in the middle of an event, a
connection that closes) is what a web framework would tidy up.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from app.core.codec import Json
from tests.builders import dumps, events, streamed
from tests.textonly import as_text, refusal


@dataclass
class Raw:
    """A reply as bytes, for what no well-behaved upstream would send."""

    body: bytes = b""
    status: int = 200
    content_type: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)
    parts: Sequence[bytes] = ()
    """The body in these writes instead, with a pause of the loop between them."""
    cut: bool = False
    """Break the connection off behind the body."""
    stall: bool = False
    """Say nothing more and keep the connection open."""
    before_head: asyncio.Event | None = None
    """Wait for this before the status line is sent."""
    wire: bytes | None = None
    """Head and body as these very bytes."""
    repeat: float | None = None
    """Say the last part for ever, with so many seconds between."""
    gate: asyncio.Event | None = None
    """Wait for this between the first part and the second."""


@dataclass
class Received:
    """A request as it arrived."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def tools(self) -> list[str]:
        return [(tool.get("function") or tool)["name"] for tool in self.json.get("tools", [])]

    def header(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name]


Scripted = Json | Raw | int | Callable[[Received], Json | Raw | int]
"""A completion in the framing that was asked for, bytes, or a status with an error body; or what
makes one of a request."""


class Upstream:
    """Plays its script, a reply a request, and the last one for ever."""

    def __init__(self, *script: Scripted, text_only: str = "") -> None:
        """`text_only`: the dialect of a model that has no tool calling and only writes text."""
        self.text_only = text_only
        self.script: list[Scripted] = list(script)
        self.received: list[Received] = []
        self.arrived = asyncio.Event()
        """A request has come."""
        self.closed = asyncio.Event()
        """A connection was closed by the other side while a reply was under way."""
        self.url = ""
        self._serving: set[asyncio.Task[Any]] = set()

    @property
    def connections(self) -> int:
        """Open now."""
        return sum(not task.done() for task in self._serving)

    @property
    def requests(self) -> list[Any]:
        """The bodies that came."""
        return [one.json for one in self.received]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until either side closes it."""
        task = asyncio.current_task()
        assert task is not None, "a connection is a task"
        self._serving.add(task)
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            pass  # `stop`; asyncio's streams make a noise of a task that ends cancelled
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; whether the connection stays open behind it."""
        received = await _read(reader)
        self.received.append(received)
        self.arrived.set()
        at = min(len(self.received), len(self.script)) - 1
        reply = _raw(self.script[at], received, self.text_only)
        answer = asyncio.ensure_future(_write(writer, reply))
        gone = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() or isinstance(answer.exception(), ConnectionError):
                self.closed.set()
                return False
            answer.result()
            return not reply.cut
        finally:
            answer.cancel()
            gone.cancel()
            await asyncio.gather(answer, gone, return_exceptions=True)

    async def stop(self) -> None:
        """Close what is still open."""
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)


@asynccontextmanager
async def upstream(*script: Scripted, text_only: str = "") -> AsyncIterator[Upstream]:
    """A running upstream; `url` is its base URL."""
    fake = Upstream(*script, text_only=text_only)
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield fake
    finally:
        server.close()
        await fake.stop()


def _raw(scripted: Scripted, received: Received, text_only: str) -> Raw:
    if callable(scripted):
        scripted = scripted(received)
    if isinstance(scripted, Raw):
        return scripted
    if isinstance(scripted, int):
        error = {"message": f"status {scripted}", "type": "scripted", "param": None, "code": None}
        headers = {"x-request-id": "req-1", "retry-after": "9", "x-should-retry": "false"}
        return Raw(dumps({"error": error}), scripted, "application/json", headers)
    headers = {"x-request-id": "req-1", "x-vendor": "kept"}
    if text_only:
        if reason := refusal(received.json):
            return Raw(dumps({"error": {"message": reason}}), 400, "application/json", headers)
        scripted = as_text(scripted, text_only)
    asked = received.json
    if not asked.get("stream"):
        return Raw(dumps(scripted), 200, "application/json", headers)
    chunks = list(streamed(scripted))
    if not (asked.get("stream_options") or {}).get("include_usage"):
        chunks = [{k: v for k, v in c.items() if k != "usage"} for c in chunks if c["choices"]]
    return Raw(events(*chunks), headers=headers)


async def _read(reader: asyncio.StreamReader) -> Received:
    head = await reader.readuntil(b"\r\n\r\n")
    request, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, target, _ = request.split(" ")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    known = {name.lower(): value for name, value in headers}
    if known.get("transfer-encoding") == "chunked":
        body = b""
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            body += (await reader.readexactly(size + 2))[:size]
        await reader.readline()
    else:
        body = await reader.readexactly(int(known.get("content-length", 0)))
    return Received(method, target, headers, body)


async def _write(writer: asyncio.StreamWriter, reply: Raw) -> None:
    if reply.before_head is not None:
        await reply.before_head.wait()
    if reply.wire is not None:
        writer.write(reply.wire)
        await writer.drain()
        return
    parts = list(reply.parts) or [reply.body]
    lines = [f"HTTP/1.1 {reply.status} OK", f"content-type: {reply.content_type}"]
    lines += [f"{name}: {value}" for name, value in reply.headers.items()]
    chunked = reply.content_type.startswith("text/event-stream") or len(parts) > 1
    if chunked:
        lines.append("transfer-encoding: chunked")
    else:
        lines.append(f"content-length: {len(parts[0]) + reply.cut}")
    writer.write("\r\n".join([*lines, "", ""]).encode())
    for position, part in enumerate(parts):
        if position == 1 and reply.gate is not None:
            await reply.gate.wait()
        writer.write(b"%x\r\n%s\r\n" % (len(part), part) if chunked and part else part)
        await writer.drain()
        await asyncio.sleep(0)
    while reply.repeat is not None:
        writer.write(b"%x\r\n%s\r\n" % (len(parts[-1]), parts[-1]))
        await writer.drain()
        await asyncio.sleep(reply.repeat)
    if reply.stall:
        await asyncio.Event().wait()
    if chunked and not reply.cut:
        writer.write(b"0\r\n\r\n")
    await writer.drain()
