"""The client's side of the wire: what is refused, what is too slow, and what is too much."""

import asyncio
import json
from contextlib import suppress

import httpx2
import pytest

from app.settings import Settings
from tests.builders import body, reply
from tests.conftest import running, start_proxy
from tests.smuggling import REFUSED, SECOND, TAKEN
from tests.upstream import Raw, Scripted
from tests.wire import connected, exchange, statuses

JSON = "application/json"
OK = Raw(b"{}", 200, JSON)
MEGABYTE = 1024 * 1024


def post(content: bytes, *headers: bytes, path: bytes = b"/v1/chat/completions") -> bytes:
    lines = [b"POST " + path + b" HTTP/1.1", b"host: a", b"connection: close", *headers]
    return b"\r\n".join([*lines, b"", content])


def error_of(said: bytes) -> dict[str, object]:
    head, _, content = said.partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head.lower()
    error: dict[str, object] = json.loads(content)["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    return error


@pytest.mark.parametrize("sent", REFUSED.values(), ids=REFUSED)
async def test_what_can_be_read_in_two_ways_is_refused_once_and_closed(sent: bytes) -> None:
    async with start_proxy(OK) as proxy:
        said = await exchange(proxy.url, sent + SECOND)

    assert len(statuses(said)) == 1
    assert statuses(said)[0] in (400, 405, 417, 431, 501, 505)
    assert error_of(said)["type"] == "invalid_request_error"
    # a body that goes wrong in its middle may have begun to be relayed; it is never whole
    assert proxy.upstream.received == []


@pytest.mark.parametrize("sent", TAKEN.values(), ids=TAKEN)
async def test_what_the_rfc_has_servers_take_is_taken(sent: bytes) -> None:
    async with start_proxy(OK) as proxy:
        said = await exchange(proxy.url, sent)

    assert statuses(said)[-1] == 200
    assert len(proxy.upstream.received) == 1


async def test_requests_in_a_row_on_one_connection_are_each_answered() -> None:
    one = b"GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n"
    async with start_proxy(OK) as proxy:
        said = await exchange(proxy.url, one + one + SECOND)

    assert statuses(said) == [200, 200, 200]
    assert [one.target for one in proxy.upstream.received] == ["/v1/models"] * 2 + ["/v1/smug"]


SLOW = {
    "nothing": b"",
    "half a request line": b"GET /v1/mo",
    "half a head": b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nX: ",
    "half a body": b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{",
    "half a chunk": b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n9\r\n{",
    "a body behind its reply": b"POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{",
    "half a head behind a reply": b"GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\nGET",
}


@pytest.mark.parametrize("sent", SLOW.values(), ids=SLOW)
async def test_a_client_that_stops_in_the_middle_is_closed(sent: bytes) -> None:
    async with start_proxy(OK, header_timeout=0.1, body_timeout=0.1, keep_alive=1) as proxy:
        said = await exchange(proxy.url, sent)

    assert statuses(said) in ([], [408], [404], [404, 408])
    assert proxy.upstream.received == []


async def test_bytes_that_drip_do_not_put_the_deadline_off() -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"X: 1\r\n")
            await asyncio.sleep(0.02)

    async with (
        start_proxy(OK, header_timeout=0.2) as proxy,
        connected(proxy.url) as (reader, writer),
        asyncio.timeout(10),
    ):
        writer.write(b"GET /v1/models HTTP/1.1\r\nHost: a\r\n")
        dripping = asyncio.create_task(drip(writer))
        said = b""
        with suppress(ConnectionResetError):  # what drips in behind the close resets it
            said = await reader.read()
        dripping.cancel()

    assert statuses(said) in ([408], [])


async def test_a_large_body_that_keeps_coming_is_waited_for() -> None:
    """A megabyte buys more time than the deadline: only one that stops is closed."""
    content = b"x" * MEGABYTE
    async with start_proxy(OK, body_timeout=0.2) as proxy, connected(proxy.url) as (reader, writer):
        head = post(b"", b"content-length: %d" % len(content), path=b"/v1/files")
        writer.write(head)
        for at in range(0, len(content), MEGABYTE // 4):
            writer.write(content[at : at + MEGABYTE // 4])
            await writer.drain()
            await asyncio.sleep(0.1)
        async with asyncio.timeout(10):
            said = await reader.read()

    assert statuses(said) == [200]
    assert proxy.upstream.received[0].body == content


async def test_a_client_that_does_not_read_is_closed() -> None:
    endless = Raw(parts=[b"data: " + b"x" * MEGABYTE + b"\n\n"] * 64, stall=True)
    sent = body(stream=True)
    async with (
        start_proxy(endless, send_timeout=0.2, mode="off") as proxy,
        connected(proxy.url) as (_, writer),
        asyncio.timeout(20),
    ):
        writer.write(post(sent, b"content-length: %d" % len(sent)))
        await proxy.upstream.closed.wait()

    assert proxy.upstream.closed.is_set()


TOO_LARGE = b"x" * (MEGABYTE + 1)
LARGE = {
    "by its length": post(TOO_LARGE, b"content-length: %d" % len(TOO_LARGE)),
    "in chunks": post(
        b"%x\r\n%b\r\n0\r\n\r\n" % (len(TOO_LARGE), TOO_LARGE), b"transfer-encoding: chunked"
    ),
    "and expects": post(
        b"", b"content-length: %d" % len(TOO_LARGE), b"expect: 100-continue"
    ).replace(b"connection: close\r\n", b""),
}


@pytest.mark.parametrize("sent", LARGE.values(), ids=LARGE)
async def test_a_body_beyond_the_limit_is_refused_unread(sent: bytes) -> None:
    async with start_proxy(reply("x"), body_mb=1) as proxy:
        said = await exchange(proxy.url, sent)

    assert statuses(said) == [413]
    assert error_of(said)["code"] == "request_too_large"
    assert proxy.upstream.received == []


async def test_a_body_at_the_limit_is_taken_and_an_upload_has_none() -> None:
    content = body(text="x" * (MEGABYTE - len(body(text=""))))
    assert len(content) == MEGABYTE
    async with start_proxy(reply("x"), OK, body_mb=1) as proxy:
        taken = await proxy.post(content)
        uploaded = await proxy.post(TOO_LARGE, "/files")

    assert (taken.status_code, uploaded.status_code) == (200, 200)


async def test_a_body_within_the_limit_is_asked_for() -> None:
    content = body()
    async with start_proxy(reply("x")) as proxy, connected(proxy.url) as (reader, writer):
        writer.write(post(b"", b"content-length: %d" % len(content), b"expect: 100-continue"))
        async with asyncio.timeout(10):
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            writer.write(content)
            said = await reader.read()

    assert statuses(said) == [200]


@pytest.mark.parametrize("path", ["/chat/completions", "/models"])
async def test_what_is_beyond_the_limit_is_turned_away_and_then_taken_again(path: str) -> None:
    gate = asyncio.Event()
    async with start_proxy(Raw(b"{}", 200, JSON, before_head=gate), max_inflight=2) as proxy:
        served = [asyncio.create_task(proxy.post(b"{}", path)) for _ in range(2)]
        while len(proxy.upstream.received) < 2:
            proxy.upstream.arrived.clear()
            await proxy.upstream.arrived.wait()
        away = await proxy.post(b"{}", path)
        gate.set()
        kept = [(await one).status_code for one in served]
        after = await proxy.post(b"{}", path)

    assert away.status_code == 503
    assert away.json()["error"]["code"] == "overloaded"
    assert away.headers["retry-after"] == "1"
    assert (kept, after.status_code) == ([200, 200], 200)


async def test_bodies_are_held_up_to_a_limit() -> None:
    gate = asyncio.Event()
    content = body(text="x" * 600_000)
    held = Raw(before_head=gate, body=b"{}", content_type=JSON)
    async with start_proxy(held, inflight_mb=1, mode="off") as proxy:
        first = asyncio.create_task(proxy.post(content))
        await proxy.upstream.arrived.wait()
        away = await proxy.post(content)
        gate.set()
        assert (await first).status_code == 200
        after = await proxy.post(content)

    assert (away.status_code, after.status_code) == (503, 200)


async def test_a_place_is_given_back_however_a_request_ends() -> None:
    endings: list[Scripted] = [
        Raw(cut=True),
        500,
        Raw(b"junk", 200, JSON),
        Raw(before_head=asyncio.Event()),
    ]
    async with start_proxy(*endings, reply("x"), max_inflight=1, first_byte_timeout=0.2) as proxy:
        ended = [(await proxy.post(body())).status_code for _ in endings]
        too_large = await proxy.post(b"x" * 17 * MEGABYTE)
        lost = await exchange(proxy.url, SECOND.replace(b"/v1", b"/v2"))
        after = await proxy.post(body())

    assert ended == [502, 500, 502, 504]
    assert (too_large.status_code, statuses(lost), after.status_code) == (413, [404], 200)


async def test_silence_of_a_stream_is_commented_where_that_is_asked_for() -> None:
    gate = asyncio.Event()
    said = Raw(parts=[b"", b"data: [DONE]\n\n"], gate=gate)
    async with (
        start_proxy(said, comment_after=0.05) as proxy,
        proxy.client.stream(
            "POST", proxy.url + "/chat/completions", content=body(stream=True)
        ) as r,
        asyncio.timeout(10),
    ):
        reads = r.aiter_raw()
        first = await anext(reads)
        gate.set()
        rest = b"".join([read async for read in reads])

    assert first.startswith(b":")
    assert first.endswith(b"\n\n")
    assert rest.endswith(b"data: [DONE]\n\n")


async def test_a_stream_has_no_comments_of_ours_by_default() -> None:
    async with start_proxy(Raw(b"data: {}\n\ndata: [DONE]\n\n")) as proxy:
        response = await proxy.post(body(stream=True))

    assert not [line for line in response.content.split(b"\n") if line.startswith(b":")]


async def test_the_connection_is_closed_behind_an_idle_time() -> None:
    settings = Settings(upstream_base_url="http://127.0.0.1:9/v1", keep_alive=1)
    async with running(settings) as url:
        said = await exchange(url, b"GET /nowhere HTTP/1.1\r\nhost: a\r\n\r\n")
        async with httpx2.AsyncClient() as client:
            assert (await client.get(url.removesuffix("/v1") + "/x")).status_code == 404

    assert statuses(said) == [404]
