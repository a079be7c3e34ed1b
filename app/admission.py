"""How much is taken on at a time: requests, and the bytes of the bodies held for them.

What is beyond is turned away at once, since a queue would only make everybody late.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from app.core.errors import TurnedAway
from app.http import Headers, Receive, body_parts

_OVERLOADED = "More is being served than fits. Try again in a moment."


class Admission:
    """The counters. They go down again however a request ends."""

    def __init__(self, most_requests: int, most_bytes: int, largest_body: int) -> None:
        self.requests = 0
        """Being served."""
        self.bytes = 0
        """Of the bodies held for them."""
        self._most_requests = most_requests
        self._most_bytes = most_bytes
        self._largest_body = largest_body

    @contextmanager
    def ticket(self) -> Iterator["Ticket"]:
        """A request's place, until the end of the block. Raises TurnedAway."""
        if self.requests >= self._most_requests:
            raise TurnedAway(503, _OVERLOADED, "overloaded")
        self.requests += 1
        ticket = Ticket(self)
        try:
            yield ticket
        finally:
            self.requests -= 1
            self.bytes -= ticket.bytes

    def take(self, size: int) -> None:
        """So many bytes more. Raises TurnedAway."""
        if self.bytes + size > self._most_bytes:
            raise TurnedAway(503, _OVERLOADED, "overloaded")
        self.bytes += size

    def measure(self, size: int) -> None:
        """Whether a body may have so many bytes. Raises TurnedAway."""
        if size > self._largest_body:
            largest = self._largest_body
            message = f"The body is too large: at most {largest:,} bytes are taken."
            raise TurnedAway(413, message, "request_too_large")


class Ticket:
    """What one request takes."""

    def __init__(self, admission: Admission) -> None:
        self.bytes = 0
        self._admission = admission

    async def body(self, receive: Receive, headers: Headers) -> bytes:
        """The whole body. It is not asked for where its length is too much: a client that
        waits for `100 Continue` then sends nothing. Raises ClientGone and TurnedAway."""
        for name, value in headers:
            if name == b"content-length":
                self._admission.measure(int(value))
        parts = []
        async for part in body_parts(receive):
            self._admission.measure(self.bytes + len(part))
            self._admission.take(len(part))
            self.bytes += len(part)
            parts.append(part)
        return b"".join(parts)
