"""The upstream: requests out, replies in as chunks.

The transport is driven directly: a client above it would replay one tenant's cookies to
the next, follow redirects and take proxies from the environment.
"""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import aclosing, asynccontextmanager
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

_EVENT_STREAM = "text/event-stream"
_KNOWN_TARGETS = 64
"""URLs that are kept parsed: it is always the same few."""
_LEAST_ERROR = 300
"""Redirects are not followed: the client gets them, as it gets a refusal."""


class Upstream:
    """One OpenAI-compatible API, reached through one pool of connections."""

    def __init__(
        self, base_url: str, transport: httpx2.AsyncBaseTransport, timeouts: dict[str, float]
    ) -> None:
        self._origin, self._prefix = _split(base_url)
        self._url = lru_cache(_KNOWN_TARGETS)(self._build_url)
        self._transport = transport
        self._extensions = {"timeout": timeouts}

    @asynccontextmanager
    async def open(
        self,
        method: str,
        target: bytes,
        headers: Headers,
        content: bytes | AsyncIterable[bytes],
        call: Call | None = None,
    ) -> AsyncIterator[httpx2.Response]:
        """A reply whose body is still to be read. Raises Broken.

        `target` is the path below the base URL with its query, as the client sent it.
        """
        call = call or Call()
        request = httpx2.Request(
            method,
            self._url(target),
            headers=headers,
            content=content or None,
            extensions=self._extensions,
        )
        call.begin()
        try:
            response = await self._transport.handle_async_request(request)
            call.answer(response.status_code)
            try:
                yield response
            finally:
                await response.aclose()
        except httpx2.HTTPError as error:
            broken = _broken(error)
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
        self._upstream = upstream
        self._target = target
        self._sent = headers
        self._trace = trace
        self._streaming = streaming
        """The client's framing: bytes of the other one are of no use to it."""

    async def chunks(self, request: bytes) -> AsyncGenerator[list[Chunk], None]:
        """The reply to one round, read by read. Raises UpstreamFailed."""
        call = self._trace.call()
        sent = self._trace.headers(self._sent, call)
        async with self._upstream.open("POST", self._target, sent, request, call) as response:
            self.headers = response.headers.raw
            if response.status_code >= _LEAST_ERROR:
                body = await response.aread()
                raise Refused(response.status_code, body, self.headers)
            if not is_event_stream(response):
                body = await response.aread()
                call.receive()
                chunk = _whole(body)
                yield [Chunk(chunk.data) if self._streaming else chunk, DONE]
                return
            async with aclosing(_events(response)) as reads:
                async for chunks in reads:
                    call.receive()
                    yield chunks if self._streaming else [_unframed(c) for c in chunks]


async def _events(response: httpx2.Response) -> AsyncGenerator[list[Chunk], None]:
    decoder = sse.Decoder()
    encoded = "content-encoding" in response.headers
    bytes_ = response.aiter_bytes() if encoded else raw_parts(response)
    async with aclosing(gathered(bytes_)) as parts:
        async for received in parts:
            chunks, failure = _read(decoder.feed(received))
            yield chunks
            if failure is not None:
                raise failure
    chunks, failure = _read(decoder.flush())
    yield [*chunks, END]
    if failure is not None:
        raise failure


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


def _broken(error: httpx2.HTTPError) -> Broken:
    match error:
        case httpx2.ConnectError() | httpx2.ConnectTimeout():
            return Broken("The upstream could not be reached.", "upstream_unreachable")
        case httpx2.PoolTimeout():
            return Broken("No connection to the upstream became free.", "overloaded", 503)
        case httpx2.TimeoutException():
            return Broken("The upstream did not answer in time.", "upstream_timeout", 504)
        case _:
            return Broken("The upstream broke off or did not speak HTTP.")
