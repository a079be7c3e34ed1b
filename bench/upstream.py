"""A fast upstream: `python -m bench.upstream PORT`.

It reads no JSON. A request that streams gets as many chunks as its `max_tokens`, each written to
the socket by itself, as a model's server does; any other request gets one fixed completion.
"""

import asyncio
import re
import sys
from collections.abc import Iterator
from itertools import chain, cycle, islice
from typing import cast

from bench.message import Message

_STREAMS = re.compile(rb'"stream": *true')
_MAX_TOKENS = re.compile(rb'"max_tokens": *(\d+)')
_EDGE = 4096
"""Where in a body to look for those: to search 240 kB would cost more than all the rest."""
_BURST = 16
"""Chunks written before other connections get their turn."""

_IDENTITY = (
    '"id":"chatcmpl-C8rPbXwBm3vQ0TqYdK5uJfLh2sNea","created":1764500000,'
    '"model":"gpt-4o-2024-08-06","system_fingerprint":"fp_cbf1785567"'
)
_COMPLETION = (
    f'{{"object":"chat.completion",{_IDENTITY},'
    '"choices":[{"index":0,"message":{"role":"assistant","content":"Nothing is on fire."},'
    '"logprobs":null,"finish_reason":"stop"}],'
    '"usage":{"prompt_tokens":48000,"completion_tokens":5,"total_tokens":48005}}'
).encode()
_REPLY_HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
_REPLY = _REPLY_HEAD.format(len(_COMPLETION)).encode() + _COMPLETION
_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    b"Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def _http_chunk(payload: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(payload), payload)


def _event(delta: str, finish_reason: str = "null") -> bytes:
    event = (
        f'data: {{"object":"chat.completion.chunk",{_IDENTITY},"choices":'
        f'[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{finish_reason}}}]}}\n\n'
    )
    return _http_chunk(event.encode())


_FIRST = _event('{"role":"assistant","content":"","refusal":null}')
_WORDS = [_event(f'{{"content":" {word}"}}') for word in ("all", "pods", "in", "staging", "run")]
_LAST = _event("{}", '"stop"') + _http_chunk(b"data: [DONE]\n\n") + _http_chunk(b"")


class Upstream(asyncio.Protocol):
    """One connection: a reply for each request, for as long as the peer stays."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._request = Message()
        self._writable = True
        self._events: Iterator[bytes] = iter(())

    def data_received(self, data: bytes) -> None:
        if not self._request.feed(data):
            return
        body, self._request = self._request.body(), Message()
        members = body[:_EDGE] + body[-_EDGE:]
        if _STREAMS.search(members):
            asked = _MAX_TOKENS.search(members)
            self._begin_stream(int(asked[1]) if asked else 1)
        else:
            self._transport.write(_REPLY)

    def connection_lost(self, exc: Exception | None) -> None:
        self._events = iter(())

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._write_burst()

    def _begin_stream(self, chunks: int) -> None:
        self._transport.write(_STREAM_HEAD + _FIRST)
        self._events = chain(islice(cycle(_WORDS), chunks), [_LAST])
        self._write_burst()

    def _write_burst(self) -> None:
        burst = list(islice(self._events, _BURST))
        for event in burst:
            self._transport.write(event)
        if burst and self._writable:
            asyncio.get_running_loop().call_soon(self._write_burst)


async def _serve(port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Upstream, "127.0.0.1", port)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
