"""The load: keep-alive connections, each of which sends again as soon as its reply is whole."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

from bench.message import Message

_PATIENCE = 60.0
"""Seconds beyond its time after which a batch is given up."""


class WrongReply(Exception):
    """A reply that is not what its row is said to measure."""


@dataclass(frozen=True)
class Batch:
    """What one batch measured, in nanoseconds, and the last reply of each connection."""

    latencies: list[int]
    elapsed: int
    replying: int
    """Of `elapsed`, what followed the first byte of the first reply."""
    replies: list[Message]


class Connection(asyncio.Protocol):
    """One connection with one request in flight."""

    done: asyncio.Future[Message]
    """Set at the end of a batch, to its last reply."""

    def __init__(self, decision: bytes) -> None:
        self._decision = decision
        self._reply = Message()
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def begin(self, requests: Iterator[bytes], until: int, latencies: list[int]) -> None:
        """Send at least once, and again until the clock says `until`."""
        self._requests, self._until, self._latencies = requests, until, latencies
        self.first_byte = 0
        self.done = asyncio.get_running_loop().create_future()
        self._send()

    def data_received(self, data: bytes) -> None:
        self.first_byte = self.first_byte or time.perf_counter_ns()
        if not self._reply.feed(data):
            return
        now = time.perf_counter_ns()
        self._latencies.append(now - self._sent)
        if wrong := self._complaint():
            self._fail(wrong)
        elif now < self._until:
            self._send()
        elif not self.done.done():
            self.done.set_result(self._reply)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail("the connection was closed")

    def _send(self) -> None:
        request, self._reply = next(self._requests), Message()
        self._sent = time.perf_counter_ns()
        self.transport.write(request)

    def _complaint(self) -> str:
        head = self._reply.head.lower()
        if not head.startswith(b"http/1.1 200 "):
            return f"{head.decode(errors='replace')}{self._reply.body()[:500]!r}"
        if self._decision not in head:
            return f"no `{self._decision.decode()}` in the reply's head: {head!r}"
        return ""

    def _fail(self, reason: str) -> None:
        if not self.done.done():
            self.done.set_exception(WrongReply(reason))


class Load:
    """Connections to one target."""

    def __init__(self, connections: list[Connection]) -> None:
        self._connections = connections

    async def batch(self, requests: Iterator[bytes], seconds: float) -> Batch:
        """Send for so many seconds; for 0, once on each connection."""
        latencies: list[int] = []
        start = time.perf_counter_ns()
        for connection in self._connections:
            connection.begin(requests, start + int(seconds * 1e9), latencies)
        async with asyncio.timeout(seconds + _PATIENCE):
            replies = await asyncio.gather(*(connection.done for connection in self._connections))
        end = time.perf_counter_ns()
        first_byte = min(connection.first_byte for connection in self._connections)
        return Batch(latencies, end - start, end - first_byte, replies)


@asynccontextmanager
async def connected(port: int, connections: int, decision: bytes) -> AsyncIterator[Load]:
    """Open connections to a server that marks each reply with its `decision`."""
    loop = asyncio.get_running_loop()
    opened: list[Connection] = []
    try:
        for _ in range(connections):
            _, connection = await loop.create_connection(
                lambda: Connection(decision), "127.0.0.1", port
            )
            opened.append(connection)
        yield Load(opened)
    finally:
        for connection in opened:
            connection.transport.abort()
