"""The least that a relay in Python can do: `python -m bench.minimal PORT UPSTREAM`.

The same server and client as Toolfold's and nothing else: no limits, no deadlines, no errors of
its own. What it costs, any relay in Python costs; the rest is what Toolfold adds.
"""

import sys

import httpx2
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

_CONNECTION_HEADERS = {b"connection", b"content-length", b"host", b"transfer-encoding"}
"""Of one connection, or set anew for the next."""


def relay(upstream: str) -> ASGIApp:
    """An app that sends each request to `upstream` and its reply back."""
    transport = httpx2.AsyncHTTPTransport()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [pair for pair in scope["headers"] if pair[0] not in _CONNECTION_HEADERS]
        url, body = upstream + scope["path"], await _body(receive)
        request = httpx2.Request(scope["method"], url, headers=headers, content=body)
        reply = await transport.handle_async_request(request)
        assert isinstance(reply.stream, httpx2.AsyncByteStream)
        start = {"status": reply.status_code, "headers": reply.headers.raw}
        await send({"type": "http.response.start", **start})
        async for piece in reply.stream:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body"})
        await reply.aclose()

    return app


async def _body(receive: Receive) -> bytes:
    pieces = []
    while (message := await receive())["type"] == "http.request":
        pieces.append(message["body"])
        if not message.get("more_body"):
            break
    return b"".join(pieces)


if __name__ == "__main__":
    uvicorn.run(
        relay(sys.argv[2]),
        port=int(sys.argv[1]),
        loop="asyncio",
        http="h11",
        lifespan="off",
        access_log=False,
        log_level="warning",
    )
