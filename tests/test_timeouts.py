"""What the upstream may take, and what is kept of a reply that is more than it should be."""

import asyncio
import gzip
import socket
import zlib

import httpx2
import pytest

from app.settings import Settings
from app.upstream import LARGEST_REPLY
from tests.builders import body, dumps, events, reply, search, streamed
from tests.conftest import running, start_proxy
from tests.quirks.seen import datas, seen
from tests.test_failures import error_event, shaped
from tests.upstream import Raw, Scripted

JSON = "application/json"
PATHS = pytest.mark.parametrize("path", ["/models", "/chat/completions"], ids=["relay", "fold"])
WORD = events(list(streamed(reply("Hello")))[1], done=False)


@pytest.mark.parametrize("mode", ["on", "off"], ids=["folded", "relayed"])
async def test_a_stream_that_never_ends_is_ended_with_an_error_event(mode: str) -> None:
    async with start_proxy(Raw(WORD, repeat=0.01), mode=mode, total_timeout=0.3) as proxy:
        response = await proxy.post(body(stream=True))

    assert error_event(response)["code"] == "upstream_timeout"


@pytest.mark.parametrize("stream", [True, False])
async def test_the_total_is_of_all_rounds(stream: bool) -> None:
    hidden = reply(search("s1", "weather"))
    script: list[Scripted] = [hidden, Raw(before_head=asyncio.Event())]
    async with start_proxy(*script, total_timeout=0.3) as proxy:
        response = await proxy.post(body(stream=stream))

    assert (response.status_code, shaped(response)["code"]) == (504, "upstream_timeout")
    assert response.headers["x-should-retry"] == "false"


async def test_a_connect_that_is_refused_is_tried_once_more() -> None:
    """The port opens between the two attempts only by luck, so: nothing listens, and the error
    comes at once and may be tried again."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    settings = Settings(upstream_base_url=f"http://127.0.0.1:{port}/v1", mode="on")
    async with running(settings) as url, httpx2.AsyncClient() as client:
        response = await client.post(url + "/chat/completions", content=body())

    assert shaped(response)["code"] == "upstream_unreachable"
    assert "x-should-retry" not in response.headers


async def test_a_name_that_is_not_known_is_said() -> None:
    settings = Settings(upstream_base_url="http://nowhere.invalid/v1", mode="on")
    async with running(settings) as url, httpx2.AsyncClient(timeout=20) as client:
        response = await client.post(url + "/chat/completions", content=body())

    assert (response.status_code, shaped(response)["code"]) == (502, "upstream_unknown_host")


async def test_tls_that_fails_is_said() -> None:
    async with start_proxy(Raw(b"{}", 200, JSON)) as plain:
        base = plain.upstream.url.replace("http://", "https://")
        settings = Settings(upstream_base_url=base, mode="on")
        async with running(settings) as url:
            response = await plain.client.post(url + "/chat/completions", content=body())

    assert (response.status_code, shaped(response)["code"]) == (502, "upstream_tls_failed")


ACCEPTED = {
    "silence": Raw(before_head=asyncio.Event()),
    "half a reply": Raw(b'{"choi', 200, JSON, cut=True),
    "no JSON": Raw(b"junk", 200, JSON),
}


@pytest.mark.parametrize("said", ACCEPTED.values(), ids=ACCEPTED)
async def test_what_the_upstream_may_have_served_is_not_to_be_sent_again(said: Raw) -> None:
    async with start_proxy(said, first_byte_timeout=0.2) as proxy:
        response = await proxy.post(body())

    assert response.status_code in (502, 504)
    assert response.headers["x-should-retry"] == "false"
    assert len(proxy.upstream.received) == 1


LOST = {"not a word": b"", "not HTTP": b"SSH-2.0-OpenSSH_9.2\r\n", "half a head": b"HTTP/1.1 20"}


@pytest.mark.parametrize("said", LOST.values(), ids=LOST)
async def test_a_connection_that_is_lost_before_the_head_is_for_the_client_to_judge(
    said: bytes,
) -> None:
    """SDKs send it again, as they would have without us."""
    async with start_proxy(Raw(wire=said, cut=True)) as proxy:
        response = await proxy.post(body())

    assert (response.status_code, len(proxy.upstream.received)) == (502, 1)
    assert "x-should-retry" not in response.headers


BOMB = gzip.compress(b"[" + b" " * 64 * 1024 * 1024 + b"]")
ODD = {
    "a bomb": (BOMB, "gzip"),
    "not gzip": (b"hello", "gzip"),
    "gzip that breaks off": (gzip.compress(dumps(reply("x")))[:-9], "gzip"),
    "another coding": (b"hello", "br"),
    "two codings": (BOMB, "gzip, gzip"),
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("content", "coding"), ODD.values(), ids=ODD)
async def test_a_packed_reply_that_cannot_be_unpacked_is_a_bad_gateway(
    content: bytes, coding: str, stream: bool
) -> None:
    said = Raw(content, 200, JSON, {"content-encoding": coding})
    async with start_proxy(said) as proxy:
        response = await proxy.post(body(stream=stream))

    assert (response.status_code, shaped(response)["code"]) == (502, "upstream_error")


@pytest.mark.parametrize(
    ("content", "coding"),
    [
        (gzip.compress(dumps(reply("Hello"))), "x-gzip"),
        (zlib.compress(dumps(reply("Hello"))), "Deflate"),
    ],
)
async def test_either_packing_is_unpacked(content: bytes, coding: str) -> None:
    async with start_proxy(Raw(content, 200, JSON, {"content-encoding": coding})) as proxy:
        response = await proxy.post(body())

    assert response.json() == reply("Hello")


async def test_a_packed_stream_is_unpacked() -> None:
    packed = gzip.compress(events(*streamed(reply("Hello"))))
    async with start_proxy(Raw(packed, headers={"content-encoding": "gzip"})) as proxy:
        response = await proxy.post(body(stream=True))

    assert seen(response).text == "Hello"
    assert "content-encoding" not in response.headers


async def test_a_packed_stream_of_one_endless_event_ends_in_an_error_event() -> None:
    packed = gzip.compress(WORD + b"data: " + b"x" * 64 * 1024 * 1024)
    async with start_proxy(Raw(packed, headers={"content-encoding": "gzip"})) as proxy:
        response = await proxy.post(body(stream=True))

    error_event(response)
    assert "[DONE]" not in datas(response.content)


@pytest.mark.parametrize("status", [200, 400])
async def test_a_reply_that_is_too_large_to_be_read_whole_is_a_bad_gateway(status: int) -> None:
    async with start_proxy(Raw(b" " * (LARGEST_REPLY + 1), status, JSON)) as proxy:
        response = await proxy.post(body())

    assert (response.status_code, shaped(response)["code"]) == (502, "upstream_error")


@PATHS
async def test_a_reply_gives_no_credential_away_and_has_one_framing(path: str) -> None:
    content = dumps(reply("x"))
    lines = [
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json",
        b"authorization: Bearer key\r\nx-api-key: k\r\napi-key: k\r\nx-goog-api-key: k",
        b"cookie: a=b\r\nserver: a\r\nserver: b\r\ncontent-type: application/json",
        b'alt-svc: h3=":443"\r\nx-kept: 1\r\ntransfer-encoding: chunked\r\ncontent-length: 3',
        b"\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(content), content),
    ]
    async with start_proxy(Raw(wire=b"\r\n".join(lines))) as proxy:
        response = await proxy.post(body(), path)

    names = [name.decode().lower() for name, _ in response.headers.raw]
    assert response.json() == reply("x")
    assert names.count("server") == names.count("content-type") == names.count("x-kept") == 1
    assert not {"authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"} & {*names}
    assert "alt-svc" not in names


async def test_a_relayed_stream_forbids_buffering_too() -> None:
    async with start_proxy(reply("x"), mode="off") as proxy:
        response = await proxy.post(body(stream=True))

    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["x-accel-buffering"] == "no"
    assert len(response.headers.get_list("content-type")) == 1
