"""The upstream: requests out, replies in as chunks.

The transport is driven directly: a client above it would replay one tenant's cookies to
the next, follow redirects and take proxies from the environment.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

import httpx2

from app import sse
from app.core.chunks import DONE, END, Chunk, as_chunk
from app.core.codec import decode_object, encode
from app.core.errors import Broken, Erred, Refused, UpstreamFailed
from app.gather import gathered
from app.http import Headers
from app.trace import Call, Trace
from app.unpack import unpacked

_EVENT_STREAM = "text/event-stream"
_KNOWN_TARGETS = 64
"""URLs that are kept parsed: it is always the same few."""
_LEAST_ERROR = 300
"""Redirects are not followed: the client gets them, as it gets a refusal."""
LARGEST_REPLY = 16 * 1024 * 1024
"""Bytes of a reply that is read whole, unpacked."""


@dataclass(frozen=True)
class Timeouts:
    """How long the upstream may take, in seconds."""

    connect: float = 5
    """To be reached; also to wait for a connection of the pool."""
    first_byte: float = 600
    """From the request to the head of its reply."""
    idle: float = 600
    """Between two pieces of a body, in either direction."""
    total: float = 3_600
    """For all the rounds of one client request."""


class Upstream:
    """One OpenAI-compatible API, reached through one pool of connections."""

    def __init__(
        self, base_url: str, transport: httpx2.AsyncBaseTransport, timeouts: Timeouts
    ) -> None:
        self._origin, self._prefix = _split(base_url)
        self._url = lru_cache(_KNOWN_TARGETS)(self._build_url)
        self._transport = transport
        self._timeouts = timeouts

    def deadline(self) -> float:
        """When a request that begins now has to be over, on the loop's clock."""
        return asyncio.get_running_loop().time() + self._timeouts.total

    @asynccontextmanager
    async def open(
        self,
        method: str,
        target: bytes,
        headers: Headers,
        content: bytes | AsyncIterable[bytes],
        until: float,
        call: Call | None = None,
    ) -> AsyncIterator[httpx2.Response]:
        """A reply whose body is still to be read, with `body_parts`. Raises Broken.

        `target` is the path below the base URL with its query, as the client sent it;
        `until` is a `deadline`.
        """
        call = call or Call()
        limits = self._timeouts
        left = max(until - asyncio.get_running_loop().time(), 0.001)
        timeouts = {
            "connect": limits.connect,
            "pool": limits.connect,
            "read": min(limits.first_byte, left),
            "write": min(limits.idle, left),
        }
        request = httpx2.Request(
            method,
            self._url(target),
            headers=headers,
            content=content or None,
            extensions={"timeout": timeouts},
        )
        call.begin()
        try:
            response = await self._transport.handle_async_request(request)
            call.answer(response.status_code)
            timeouts["read"] = limits.idle  # read again when the body is
            try:
                yield response
            finally:
                await response.aclose()
        except httpx2.HTTPError as error:
            broken = _broken(error, call)
            call.error = broken.code
            raise broken from error
        finally:
            call.end()

    def _build_url(self, target: bytes) -> httpx2.URL:
        return httpx2.URL(self._origin).copy_with(raw_path=self._prefix + target)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._transport.aclose()


class Rounds:
    """The rounds of one client request: its address and headers, other bodies."""

    def __init__(
        self,
        upstream: Upstream,
        target: bytes,
        headers: Headers,
        trace: Trace,
        *,
        streaming: bool,
    ) -> None:
        self.headers: Headers = []
        """Of the latest reply."""
        self._until = upstream.deadline()
        self._upstream = upstream
        self._target = target
        self._sent = headers
        self._trace = trace
        self._streaming = streaming
        """The client's framing: bytes of the other one are of no use to it."""

    async def chunks(self, request: bytes) -> AsyncGenerator[list[Chunk], None]:
        """The reply to one round, read by read. Raises UpstreamFailed."""
        until = self._until
        call = self._trace.call()
        sent = self._trace.headers(self._sent, call)
        async with self._upstream.open(
            "POST", self._target, sent, request, until, call
        ) as response:
            self.headers = response.headers.raw
            if response.status_code >= _LEAST_ERROR:
                body = await _read_whole(response, until)
                raise Refused(response.status_code, body, self.headers)
            if not is_event_stream(response):
                body = await _read_whole(response, until)
                call.receive()
                chunk = _whole(body)
                yield [Chunk(chunk.data) if self._streaming else chunk, DONE]
                return
            async with aclosing(_events(response, until)) as reads:
                async for chunks in reads:
                    call.receive()
                    yield chunks if self._streaming else [_unframed(c) for c in chunks]


async def _events(response: httpx2.Response, until: float) -> AsyncGenerator[list[Chunk], None]:
    decoder = sse.Decoder()
    async with aclosing(gathered(_plain_parts(response), until)) as parts:
        async for received in parts:
            chunks, failure = _read(decoder.feed(received))
            yield chunks
            if failure is not None:
                raise failure
    chunks, failure = _read(decoder.flush())
    yield [*chunks, END]
    if failure is not None:
        raise failure


async def _read_whole(response: httpx2.Response, until: float) -> bytes:
    parts, size = [], 0
    async with aclosing(gathered(_plain_parts(response), until)) as pieces:
        async for piece in pieces:
            size += len(piece)
            if size > LARGEST_REPLY:
                raise Broken("The upstream's reply is too large.")
            parts.append(piece)
    return b"".join(parts)


def _plain_parts(response: httpx2.Response) -> AsyncIterable[bytes]:
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    parts = raw_parts(response)
    return parts if coding in ("identity", "") else unpacked(parts, coding)


def _read(events: list[sse.Event]) -> tuple[list[Chunk], UpstreamFailed | None]:
    """The chunks before the first event that says an error, and that error."""
    chunks: list[Chunk] = []
    for event in events:
        if event.data is not None and event.data.strip() == b"[DONE]":
            chunks.append(DONE)
            continue
        data = decode_object(event.data or b"")
        if data is not None and data.get("error"):
            return chunks, Erred(encode(data))
        chunks.append(Chunk(data or {}, event.raw))
    return chunks, None


def _unframed(chunk: Chunk) -> Chunk:
    return chunk if chunk is DONE or chunk is END else Chunk(chunk.data)


def _whole(body: bytes) -> Chunk:
    data = decode_object(body)
    if data is None:
        raise Broken("The upstream's reply is not a JSON object.")
    if data.get("error") and not data.get("choices"):
        raise Erred(body)
    return Chunk(as_chunk(data), body)


def is_event_stream(response: httpx2.Response) -> bool:
    """Whether the body is a stream of events."""
    return _EVENT_STREAM in response.headers.get("content-type", "").lower()


def raw_parts(response: httpx2.Response) -> AsyncIterable[bytes]:
    """The body as it comes, without the layers of `aiter_raw`. Raises httpx2.HTTPError."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    return response.stream


def _split(base_url: str) -> tuple[str, bytes]:
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/").encode()


def _broken(error: httpx2.HTTPError, call: Call) -> Broken:
    match error:
        case httpx2.ConnectError() | httpx2.ConnectTimeout():
            message, code = _unreached(error)
            return Broken(message, code, accepted=False)
        case httpx2.PoolTimeout():
            message = "No connection to the upstream became free."
            return Broken(message, "overloaded", 503, accepted=False)
        case httpx2.TimeoutException():
            return Broken("The upstream did not answer in time.", "upstream_timeout", 504)
        case _:
            message = "The upstream broke off or did not speak HTTP."
            return Broken(message, accepted=call.status > 0)


def _unreached(error: BaseException) -> tuple[str, str]:
    """Why there is no connection, and the code that says so."""
    for cause in _causes(error):
        if isinstance(cause, socket.gaierror):
            return "The upstream's name is not known.", "upstream_unknown_host"
        if isinstance(cause, ssl.SSLError):
            return "The upstream's certificate or TLS was refused.", "upstream_tls_failed"
    return "The upstream could not be reached.", "upstream_unreachable"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
