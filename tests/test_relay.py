"""What is not folded crosses as it is: any method, path, query, body, upload and reply."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest

from app.settings import Settings
from tests.builders import body, dumps, events, reply, streamed
from tests.conftest import Proxy, running, start_proxy
from tests.upstream import Raw, upstream

BINARY = bytes(range(256)) * 40
JSON = "application/json"
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]


def root(proxy: Proxy) -> str:
    return proxy.url.removesuffix("/v1")


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def in_front_of(handler: Handler) -> AsyncIterator[str]:
    """The URL of a Toolfold before a server that is not scripted."""
    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server, running(Settings(upstream_base_url=base)) as url:
        yield url


async def raw_exchange(proxy: Proxy, head: str, content: bytes = b"") -> bytes:
    """A request as these bytes, and all that comes back."""
    host, _, port = root(proxy).removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    lines = head + f"host: {host}\r\nconnection: close\r\ncontent-length: {len(content)}\r\n\r\n"
    writer.write(lines.encode() + content)
    async with asyncio.timeout(5):
        answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


@pytest.mark.parametrize("method", METHODS)
async def test_any_method_crosses(method: str) -> None:
    async with start_proxy(Raw(b"{}", 207, JSON)) as proxy:
        response = await proxy.client.request(method, proxy.url + "/files/7?x=1&x=2")

    (received,) = proxy.upstream.received
    assert (received.method, received.target) == (method, "/v1/files/7?x=1&x=2")
    assert (response.status_code, response.content) == (207, b"{}")
    assert response.headers["x-toolfold-decision"] == "relayed"
    assert response.headers["x-toolfold-reason"] == "other-endpoint"


TARGETS = [
    *("/v1/models", "/v1/models/ft:gpt-4o:org::x", "/v1/a//b/", "/v1/", "/v1/files/a%2Fb%20c"),
    *("/v1/x?", "/v1/x?a=%2e%2e/..&b=[1]", "/v1/chat/completions/abc", "/v1/caf%C3%A9"),
    *("/v1/responses", "/v1/a;b=c/d", "/v1/...", "/v1/.well-known"),
]


@pytest.mark.parametrize("target", TARGETS)
async def test_a_target_crosses_as_it_was_written(target: str) -> None:
    async with start_proxy(Raw(b"{}", 200, JSON)) as proxy:
        answer = await raw_exchange(proxy, f"GET {target} HTTP/1.1\r\n")

    assert answer.startswith(b"HTTP/1.1 200")
    assert proxy.upstream.received[0].target in (target, target.removesuffix("?"))


OUTSIDE = [
    *("/", "/v1", "/v2/models", "/v10/models", "/metrics", "/healthz", "/docs", "/openapi.json"),
    *("/v1/../admin", "/v1/%2e%2e/admin", "/v1/a/%2E./b", "/v1/./x", "/v1/..", "/v1/a/..%2fb"),
    *("/V1/models", "//evil/v1/models", "/%76%31/models"),
]


@pytest.mark.parametrize("target", OUTSIDE)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_what_is_not_below_the_base_is_not_found(target: str, method: str) -> None:
    async with start_proxy(Raw(b"{}", 200, JSON)) as proxy:
        answer = await raw_exchange(proxy, f"{method} {target} HTTP/1.1\r\n")

    head, _, content = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 404")
    assert b'"type":"invalid_request_error"' in content
    assert proxy.upstream.received == []


async def test_an_absolute_target_does_not_choose_the_upstream() -> None:
    async with upstream(Raw(b"{}", 200, JSON)) as evil, start_proxy(Raw(b"{}", 200, JSON)) as proxy:
        await raw_exchange(proxy, f"GET {evil.url}/models HTTP/1.1\r\n")

    assert evil.received == []


BODIES = {
    "text": (b"hello", "text/plain"),
    "binary": (BINARY, "application/octet-stream"),
    "multipart": (b'--b\r\ncontent-disposition: form-data; name="f"\r\n\r\n\x00\xff\r\n--b--', "m"),
    "empty": (b"", "text/plain"),
    "JSON with tools": (body(), JSON),
    "8 MB": (BINARY * 800, "application/octet-stream"),
}


@pytest.mark.parametrize("chunked", [True, False], ids=["chunked", "content-length"])
@pytest.mark.parametrize(("content", "kind"), BODIES.values(), ids=BODIES)
async def test_an_upload_arrives_as_it_was_sent(content: bytes, kind: str, chunked: bool) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for at in range(0, len(content), 65_536):
            yield content[at : at + 65_536]

    async with start_proxy(Raw(content, 200, kind)) as proxy:
        sent = parts() if chunked else content
        headers = {"content-type": kind}
        response = await proxy.client.post(proxy.url + "/files", content=sent, headers=headers)

    (received,) = proxy.upstream.received
    assert received.body == content
    assert received.header("content-type") == [kind]
    framing = len(received.header("content-length")), len(received.header("transfer-encoding"))
    assert framing == ((0, 1) if chunked else (1, 0))
    assert response.content == content


async def test_a_stream_crosses_while_it_is_made() -> None:
    gate = asyncio.Event()
    said = Raw(parts=[b"data: 1\n\n", b"data: 2\n\n"], gate=gate)
    async with (
        asyncio.timeout(5),
        start_proxy(said) as proxy,
        proxy.client.stream("POST", proxy.url + "/responses", content=b"{}") as response,
    ):
        reads = response.aiter_raw()
        first = await anext(reads)
        gate.set()
        rest = b"".join([read async for read in reads])

    assert (first, rest) == (b"data: 1\n\n", b"data: 2\n\n")
    assert response.headers["content-type"] == "text/event-stream"


async def test_an_upload_crosses_while_it_is_sent() -> None:
    """The upstream hears of the request before the client has said all of it."""
    arrived = asyncio.Event()

    async def early(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"first part")
        arrived.set()
        await reader.readuntil(b"0\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        writer.close()

    async def parts() -> AsyncIterator[bytes]:
        yield b"first part"
        await arrived.wait()
        yield b"second part"

    async with in_front_of(early) as url, httpx2.AsyncClient() as client, asyncio.timeout(5):
        response = await client.post(url + "/files", content=parts())

    assert response.content == b"ok"


@pytest.mark.parametrize("path", ["/models", "/chat/completions"])
async def test_a_compressed_reply_stays_compressed(path: str) -> None:
    packed = gzip.compress(dumps(reply("Hello")))
    said = Raw(packed, 200, JSON, {"content-encoding": "gzip"})
    async with start_proxy(said, mode="off") as proxy:
        sent = {"accept-encoding": "gzip, br;q=0.5"}
        async with proxy.client.stream(
            "POST", proxy.url + path, content=b"{}", headers=sent
        ) as response:
            came = b"".join([read async for read in response.aiter_raw()])

    assert came == packed
    assert response.headers["content-encoding"] == "gzip"
    assert proxy.upstream.received[0].header("accept-encoding") == ["gzip, br;q=0.5"]


async def test_a_compressed_reply_to_a_folded_request_is_unpacked() -> None:
    packed = gzip.compress(dumps(reply("Hello")))
    said = Raw(packed, 200, JSON, {"content-encoding": "gzip"})
    async with start_proxy(said) as proxy:
        response = await proxy.post(body())

    assert response.json() == reply("Hello")
    assert "content-encoding" not in response.headers
    assert proxy.upstream.received[0].header("accept-encoding") == ["identity"]


async def test_no_accept_encoding_means_none() -> None:
    async with start_proxy(Raw(b"{}", 200, JSON)) as proxy:
        await raw_exchange(proxy, "GET /v1/models HTTP/1.1\r\n")

    assert proxy.upstream.received[0].header("accept-encoding") in ([], ["identity"])


async def test_head_has_headers_and_no_body() -> None:
    async def heads(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 17\r\nx-kind: head\r\n\r\n")
        writer.close()

    async with in_front_of(heads) as url, httpx2.AsyncClient() as client:
        response = await client.head(url + "/models")

    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["x-kind"] == "head"
    assert response.headers["content-length"] == "17"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("path", ["/models", "/chat/completions"])
async def test_a_redirect_is_the_clients_to_follow(status: int, path: str) -> None:
    async with upstream(200) as other:
        moved = Raw(b"moved", status, "text/plain", {"location": other.url + path})
        async with start_proxy(moved) as proxy:
            response = await proxy.post(body(), path)

    assert (response.status_code, response.content) == (status, b"moved")
    assert response.headers["location"] == other.url + path
    assert other.received == []


@pytest.mark.parametrize("status", [200, 201, 204, 304, 400, 404, 429, 500, 503])
async def test_any_status_crosses(status: int) -> None:
    content = b"" if status in (204, 304) else b'{"x": 1}'
    async with start_proxy(Raw(content, status, JSON)) as proxy:
        response = await proxy.client.get(proxy.url + "/models")

    assert (response.status_code, response.content) == (status, content)


async def test_a_relayed_chat_stream_keeps_every_byte() -> None:
    said = b": hi\n\n" + events(*streamed(reply("Hello"))).replace(b"\n\n", b"\r\n\r\n") + b"junk"
    async with start_proxy(Raw(said), mode="off") as proxy:
        response = await proxy.post(body(stream=True))

    assert response.content == said
    assert proxy.upstream.received[0].body == body(stream=True)
