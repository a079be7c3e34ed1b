"""How a reply is written to the client: as events while it is made, or as one body."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from time import perf_counter
from typing import Protocol

import httpx2

from app import sse
from app.core.chunks import DONE, Chunk, as_completion, fold
from app.core.codec import decode_object, encode
from app.core.errors import (
    BadRequest,
    Broken,
    Denied,
    Erred,
    Refused,
    ToolfoldError,
    TurnedAway,
)
from app.gather import gathered
from app.http import Headers, Send, respond, returned, start, write
from app.telemetry import Report
from app.upstream import is_event_stream, raw_parts

FRAMING = (b"content-type", b"content-length", b"content-encoding")
"""Headers of the upstream's framing: what goes out is decoded and may be of another length."""
_JSON = (b"content-type", b"application/json")
_EVENT_STREAM = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
)
"""Proxies on the way must not hold events back."""

_NOT_AGAIN = (b"x-should-retry", b"false")
"""OpenAI's SDKs send a request again after a 5xx, though the upstream may have served it."""
_RETRY_AFTER = (b"retry-after", b"1")
_COMMENT = b": still here\n\n"

Reads = AsyncIterator[list[Chunk]]
Head = Callable[[], Headers]
"""The upstream's headers of the latest round, less its framing, with our own: asked for
when they are needed."""


class Spending(Protocol):
    """What wants to know that the client has its 200."""

    status_is_spent: bool


class EventStream:
    """A streamed reply. Its status waits for the first visible chunk, so that a refusal of
    any round can still have its own."""

    def __init__(
        self, send: Send, turn: Spending, head: Head, patience: float, comment_after: float = 0
    ) -> None:
        """`comment_after`: seconds of silence behind which a comment says that we are still
        here; 0 for never, since some SDKs cannot read comments."""
        self._send = send
        self._turn = turn
        self._head = head
        self._deadline = perf_counter() + patience
        self._timer: asyncio.Task[None] | None = None
        self.failure: str | None = None
        """What broke the reply off behind its 200."""
        self._comment_after = comment_after
        self._last = 0.0

    async def write(self, reads: Reads) -> None:
        """Tell the client what there is to tell. Raises UpstreamFailed while there still
        can be another status; later, one error event ends the stream, without `[DONE]`."""
        commenter = asyncio.create_task(self._comment()) if self._comment_after else None
        try:
            async for chunks in reads:
                if chunks:
                    await self._tell(chunks)
                elif not self._turn.status_is_spent and self._timer is None:
                    self._timer = asyncio.create_task(self._begin_in_time())
        except ToolfoldError as failure:
            if not self._turn.status_is_spent and not isinstance(failure, Erred):
                raise
            self.failure = type(failure).__name__
            await self._begin()
            await write(self._send, sse.encode(_error_text(failure)))
        finally:
            for task in (self._timer, commenter):
                if task is not None:
                    task.cancel()

    async def end(self) -> None:
        """The last byte: apart, since from here on the connection is another request's."""
        await write(self._send, b"", more=False)

    async def _tell(self, chunks: list[Chunk]) -> None:
        await self._begin()
        events = (chunk.raw or sse.encode(encode(chunk.data)) for chunk in chunks)
        await write(self._send, b"".join(events))
        self._last = perf_counter()

    async def _comment(self) -> None:
        self._last = perf_counter()
        while True:
            silent = perf_counter() - self._last
            if silent < self._comment_after:
                await asyncio.sleep(self._comment_after - silent)
            else:
                await self._begin()
                await write(self._send, _COMMENT)
                self._last = perf_counter()

    async def _begin(self) -> None:
        if not self._turn.status_is_spent:
            self._turn.status_is_spent = True
            ours = dict(_EVENT_STREAM)
            kept = [header for header in self._head() if header[0] not in ours]
            await start(self._send, 200, [*kept, *_EVENT_STREAM])

    async def _begin_in_time(self) -> None:
        """A client that waits through hidden rounds sees at least the head: many give up
        after some silence, and directly they would have had it by now."""
        await asyncio.sleep(self._deadline - perf_counter())
        await self._begin()


class Relayed:
    """A reply that is passed back as the bytes that come."""

    def __init__(self, send: Send, report: Report) -> None:
        self._send = send
        self._report = report
        self._last = b""
        self._has_begun = False
        self._is_events = False

    async def copy(self, response: httpx2.Response, until: float) -> None:
        """Status, headers and body, but for the last byte. Raises Broken."""
        self._report.status = response.status_code
        self._is_events = is_event_stream(response)
        headers = returned(response.headers.raw)
        if self._is_events:
            said = {name for name, _ in headers}
            headers += [header for header in _EVENT_STREAM if header[0] not in said]
        headers += self._report.headers()
        self._has_begun = True
        await start(self._send, response.status_code, headers)
        async with aclosing(gathered(raw_parts(response), until)) as parts:
            async for data in parts:
                self._report.trace.calls[-1].receive()
                self._last = data
                await write(self._send, data)

    async def fail(self, failure: Broken) -> None:
        """The upstream broke off. Where a whole event was the last thing said, an error
        event can follow; otherwise the connection breaks off here too."""
        self._report.error = failure.code
        if not self._has_begun:
            self._report.status = await write_failure(
                self._send, failure, self._report.headers(), 0
            )
        elif self._is_events and self._last.endswith((b"\n\n", b"\r\n\r\n", b"\r\r")):
            await write(self._send, sse.encode(_error_text(failure)), more=False)


async def write_whole(send: Send, reads: Reads, head: Head) -> None:
    """A buffered reply: the upstream's own bytes where one round said it all."""
    chunks = [chunk async for read in reads for chunk in read if chunk is not DONE]
    body = (chunks[0].raw if len(chunks) == 1 else None) or _folded(chunks)
    await respond(send, 200, [*head(), _JSON], body)


def _folded(chunks: list[Chunk]) -> bytes:
    try:
        return encode(as_completion(fold(chunk.data for chunk in chunks)))
    except RecursionError:
        raise Broken("The upstream's reply is nested too deeply.") from None


async def write_failure(send: Send, failure: ToolfoldError, ours: Headers, rounds: int) -> int:
    """A failure that can still have its status, which is returned."""
    match failure:
        case Refused():
            kept = returned(failure.headers, b"content-length", b"content-encoding")
            status, headers, body = failure.status, kept, failure.body
        case Erred():  # as it would have been without us, if it was the only round
            status, headers, body = 200 if rounds == 1 else 502, [_JSON], failure.body
            headers += [_NOT_AGAIN] if status == 502 else []
        case BadRequest():
            status, headers, body = 400, [_JSON], _error_text(failure)
        case Denied():
            asks = [(b"www-authenticate", b"Bearer")] if failure.status == 401 else []
            status, headers, body = failure.status, [_JSON, *asks], _error_text(failure)
        case TurnedAway():
            status, headers, body = failure.status, [_JSON], _error_text(failure)
            headers += [_RETRY_AFTER] if status == 503 else []
        case Broken():
            status, headers, body = failure.status, [_JSON], _error_text(failure)
            headers += [_NOT_AGAIN] if failure.accepted or rounds > 1 else []
        case _:
            raise failure
    await respond(send, status, [*headers, *ours], body)
    return status


def error_body(message: str, kind: str, param: str | None, code: str | None) -> bytes:
    """OpenAI's error object."""
    error = {"message": message, "type": kind, "param": param, "code": code}
    return encode({"error": error})


def _error_text(failure: ToolfoldError) -> bytes:
    match failure:
        case Erred():
            return failure.body
        case BadRequest() | Denied():
            return error_body(failure.message, "invalid_request_error", failure.param, failure.code)
        case TurnedAway():
            kind = "invalid_request_error" if failure.status < 500 else "server_error"
            return error_body(failure.message, kind, None, failure.code)
        case Refused() if (body := decode_object(failure.body)) and "error" in body:
            return encode(body)
        case Refused():
            message = f"The upstream answered with status {failure.status}."
            return error_body(message, "upstream_error", None, str(failure.status))
        case Broken():
            return error_body(failure.message, "upstream_error", None, failure.code)
        case _:
            raise failure


async def write_not_found(send: Send) -> int:
    """The answer where nothing is served. Returns the status."""
    text = "Nothing is served here: requests go below `/v1`, as in `/v1/chat/completions`."
    body = error_body(text, "invalid_request_error", None, "not_found")
    await respond(send, 404, [_JSON], body)
    return 404
