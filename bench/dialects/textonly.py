"""An upstream that refuses `tools` and only writes text, in front of one that calls tools:
`python -m bench.dialects.textonly PORT UPSTREAM_URL DIALECT`."""

import asyncio
import json
import sys
from contextlib import aclosing

import httpx2
import uvicorn

from app import sse
from app.core.errors import Broken
from app.http import (
    ClientGone,
    Headers,
    Receive,
    Scope,
    Send,
    body_parts,
    cancelled_when_gone,
    forwarded,
    respond,
    returned,
    start,
    write,
)
from app.upstream import Timeouts, Upstream, is_event_stream
from bench.dialects.block import Json, Refused, Spoken, read_back
from bench.dialects.prose import Prose, as_prose

_JSON = (b"content-type", b"application/json")
_SIGNATURE = {"google": {"thought_signature": "none: text has no signatures"}}


class TextOnly:
    """The server: raw ASGI, so that a client that hangs up is seen."""

    def __init__(self, upstream: Upstream, dialect: str) -> None:
        self._upstream = upstream
        self._dialect = dialect

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body = b"".join([part async for part in body_parts(receive)])
        target: bytes = scope["raw_path"] + (b"?" * bool(scope["query_string"]))
        target += scope["query_string"]
        try:
            async with cancelled_when_gone(receive):
                await self._answer(scope, send, target, body)
        except ClientGone:
            pass

    async def _answer(self, scope: Scope, send: Send, target: bytes, body: bytes) -> None:
        spoken: Spoken | None = None
        if target.endswith(b"/chat/completions"):
            try:
                request = json.loads(body)
                if request.get("tools") != []:  # what the real one says of it is to be seen
                    request, spoken = read_back(request, self._dialect)
                    body = json.dumps(_signed(request)).encode()
            except Refused as refused:
                error = {"message": str(refused), "type": "invalid_request_error", "param": "tools"}
                await respond(send, 400, [_JSON], json.dumps({"error": error}).encode())
                return
            except (KeyError, TypeError, ValueError):
                spoken = None
        headers = forwarded(scope["headers"], accept_encoding=b"identity")
        try:
            async with self._upstream.open(
                scope["method"], target, headers, body, self._upstream.deadline()
            ) as response:
                await _pass_back(send, response, spoken)
        except Broken as broken:
            raise ConnectionError(broken.message) from broken  # this side breaks off too


async def _pass_back(send: Send, response: httpx2.Response, spoken: Spoken | None) -> None:
    kept: Headers = returned(response.headers.raw, b"content-length")
    if not is_event_stream(response):
        body = await response.aread()
        if spoken is not None and response.status_code == 200:
            body = json.dumps(as_prose(json.loads(body), spoken)).encode()
        await respond(send, response.status_code, kept, body)
        return
    await start(send, response.status_code, kept)
    decoder, prose = sse.Decoder(), Prose(spoken or Spoken("", "json_tag"))
    async with aclosing(response.aiter_raw()) as parts:
        async for part in parts:
            for event in decoder.feed(part):
                await write(send, _translated(event, prose))
    await write(send, b"", more=False)


def _translated(event: sse.Event, prose: Prose) -> bytes:
    try:
        chunk = json.loads(event.data or b"")
    except ValueError:
        return event.raw
    chunks = prose.chunks(chunk) if isinstance(chunk, dict) else None
    if chunks is None:
        return event.raw
    return b"".join(sse.encode(json.dumps(one).encode()) for one in chunks)


def _signed(request: Json) -> Json:
    """A model behind this that wants its signatures back gets some: text cannot carry them."""
    texts = json.dumps([m for m in request["messages"] if m["role"] == "user"])
    if "[[inject:" in texts and "signature" in texts:
        for message in request["messages"]:
            for call in message.get("tool_calls", []):
                call["extra_content"] = _SIGNATURE
    return request


def main(port: str, url: str, dialect: str) -> None:
    """Serve until SIGTERM."""
    origin = url.rstrip("/").removesuffix("/v1")
    transport = httpx2.AsyncHTTPTransport(trust_env=False)
    app = TextOnly(Upstream(origin, transport, Timeouts()), dialect)
    config = uvicorn.Config(
        app,
        port=int(port),
        http="h11",
        lifespan="off",
        log_level="error",
        server_header=False,
        date_header=False,
    )
    asyncio.run(uvicorn.Server(config).serve())


if __name__ == "__main__":
    main(*sys.argv[1:])
