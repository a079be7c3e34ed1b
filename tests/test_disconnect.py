"""When the client hangs up, the upstream's connection is closed at once, no further round
starts and no task is left behind."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from app.settings import Settings
from tests.builders import body, dumps, events, reply, search, streamed
from tests.conftest import Proxy, running, start_proxy
from tests.upstream import Raw

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
CHAT = "/v1/chat/completions"
WORDS = events(*list(streamed(reply("Hello there")))[:3], done=False)
SEARCH = reply(search("s1", "weather"))
SOON = 1.0


@asynccontextmanager
async def caller(
    url: str, content: bytes, path: str = CHAT, length: int | None = None
) -> AsyncIterator[asyncio.StreamReader]:
    """A client that hangs up at the end of the block, read to the end or not."""
    host, _, port = url.removeprefix("http://").removesuffix("/v1").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    size = len(content) if length is None else length
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {size}\r\n\r\n"
    writer.write(head.encode() + content)
    try:
        async with asyncio.timeout(5):
            yield reader
    finally:
        writer.close()
        await writer.wait_closed()


async def answered(url: str) -> None:
    """The server has had its turn: it has answered another client."""
    async with caller(url, b"", "/nowhere") as reader:
        await reader.readuntil(b"\r\n\r\n")


@asynccontextmanager
async def nothing_left(url: str) -> AsyncIterator[None]:
    """The tasks that begin inside end soon after."""
    await answered(url)  # so the server has begun, with tasks of its own
    before = asyncio.all_tasks()
    yield
    async with asyncio.timeout(SOON):
        while left := asyncio.all_tasks() - before:
            await asyncio.wait(left)


async def closed(proxy: Proxy) -> None:
    """The upstream has seen the close."""
    async with asyncio.timeout(SOON):
        await proxy.upstream.closed.wait()


def hidden(stream: bool, gate: asyncio.Event | None = None) -> Raw:
    """A search, in the framing that is asked for, behind a gate."""
    if stream:
        return Raw(events(*streamed(SEARCH)), before_head=gate)
    return Raw(dumps(SEARCH), 200, "application/json", before_head=gate)


@FRAMINGS
@pytest.mark.parametrize("mode", ["on", "off"], ids=["folded", "relayed"])
async def test_before_the_head(mode: str, stream: bool) -> None:
    async with (
        start_proxy(Raw(before_head=asyncio.Event()), mode=mode) as proxy,
        nothing_left(proxy.url),
    ):
        async with caller(proxy.url, body(stream=stream)):
            await proxy.upstream.arrived.wait()
        await closed(proxy)

    assert len(proxy.upstream.received) == 1


@pytest.mark.parametrize("mode", ["on", "off"], ids=["folded", "relayed"])
async def test_in_the_middle_of_a_stream(mode: str) -> None:
    async with start_proxy(Raw(WORDS, stall=True), mode=mode) as proxy, nothing_left(proxy.url):
        async with caller(proxy.url, body(stream=True)) as reader:
            await reader.readuntil(b"Hel")
        await closed(proxy)

    assert len(proxy.upstream.received) == 1


@FRAMINGS
async def test_in_the_middle_of_a_round_that_shows_nothing(stream: bool) -> None:
    begun = events(*list(streamed(SEARCH))[:3], done=False)
    async with start_proxy(Raw(begun, stall=True)) as proxy, nothing_left(proxy.url):
        async with caller(proxy.url, body(stream=stream)):
            await proxy.upstream.arrived.wait()
        await closed(proxy)

    assert len(proxy.upstream.received) == 1


@FRAMINGS
@pytest.mark.parametrize("begun", [True, False], ids=["in its body", "before its head"])
async def test_in_a_hidden_round(begun: bool, stream: bool) -> None:
    gate = asyncio.Event()
    second = Raw(WORDS[:40], stall=True) if begun else Raw(before_head=asyncio.Event())
    async with start_proxy(hidden(stream, gate), second) as proxy, nothing_left(proxy.url):
        async with caller(proxy.url, body(stream=stream)):
            await proxy.upstream.arrived.wait()
            proxy.upstream.arrived.clear()
            gate.set()
            await proxy.upstream.arrived.wait()
        await closed(proxy)

    assert len(proxy.upstream.received) == 2


@FRAMINGS
async def test_no_round_starts_for_a_client_that_is_gone(stream: bool) -> None:
    gate = asyncio.Event()
    async with start_proxy(hidden(stream, gate), reply("Done.")) as proxy, nothing_left(proxy.url):
        async with caller(proxy.url, body(stream=stream)):
            await proxy.upstream.arrived.wait()
        gate.set()

    assert len(proxy.upstream.received) == 1


async def test_behind_words_and_before_the_second_round_speaks() -> None:
    spoken = events(*streamed(reply("Let me see.", search("s1", "weather"))))
    script = [Raw(spoken), Raw(before_head=asyncio.Event())]
    async with start_proxy(*script) as proxy, nothing_left(proxy.url):
        async with caller(proxy.url, body(stream=True)) as reader:
            await reader.readuntil(b'"e."')
            while len(proxy.upstream.received) < 2:
                proxy.upstream.arrived.clear()
                await proxy.upstream.arrived.wait()
        await closed(proxy)

    assert len(proxy.upstream.received) == 2


async def test_where_the_head_was_sent_early() -> None:
    script = [hidden(True), Raw(before_head=asyncio.Event())]
    async with start_proxy(*script, head_after=0) as proxy, nothing_left(proxy.url):
        async with caller(proxy.url, body(stream=True)) as reader:
            await reader.readuntil(b"\r\n\r\n")
        await closed(proxy)

    assert len(proxy.upstream.received) == 2


async def test_while_a_hidden_round_is_tried_again() -> None:
    spoken = events(*streamed(reply("Let me see.", search("s1", "weather"))))
    async with start_proxy(Raw(spoken), 503, Raw(before_head=asyncio.Event())) as proxy:
        async with nothing_left(proxy.url), caller(proxy.url, body(stream=True)) as reader:
            await reader.readuntil(b'"e."')
            while len(proxy.upstream.received) < 3:
                proxy.upstream.arrived.clear()
                await proxy.upstream.arrived.wait()
        await closed(proxy)

    assert len(proxy.upstream.received) == 3


@pytest.mark.parametrize("begun", [True, False], ids=["in its body", "before its head"])
@pytest.mark.parametrize("path", ["/v1/files", "/v1/responses"])
async def test_in_a_relay(path: str, begun: bool) -> None:
    said = Raw(WORDS, stall=True) if begun else Raw(before_head=asyncio.Event())
    async with start_proxy(said) as proxy, nothing_left(proxy.url):
        async with caller(proxy.url, b"{}", path) as reader:
            await proxy.upstream.arrived.wait()
            if begun:
                await reader.readuntil(b"Hel")
        await closed(proxy)

    assert len(proxy.upstream.received) == 1


async def test_in_the_middle_of_an_upload_that_is_relayed() -> None:
    arrived, gone = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"first part")
        arrived.set()
        await reader.read()
        gone.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server, running(Settings(upstream_base_url=base)) as url, nothing_left(url):
        async with caller(url, b"first part", "/v1/files", length=1_000):
            await arrived.wait()
        async with asyncio.timeout(SOON):
            await gone.wait()

    assert gone.is_set()


@pytest.mark.parametrize("mode", ["on", "off"], ids=["folded", "relayed"])
async def test_in_the_middle_of_a_request_that_we_read_whole(mode: str) -> None:
    async with (
        start_proxy(reply("x"), mode=mode) as proxy,
        nothing_left(proxy.url),
        caller(proxy.url, body()[:100], length=len(body())),
    ):
        await answered(proxy.url)

    assert proxy.upstream.received == []


@FRAMINGS
@pytest.mark.parametrize("mode", ["on", "off"], ids=["folded", "relayed"])
async def test_many_that_hang_up_leave_the_pool_as_it_was(mode: str, stream: bool) -> None:
    gone = [Raw(before_head=asyncio.Event())] * 20
    async with start_proxy(*gone, reply("Hi"), mode=mode, max_connections=1) as proxy:
        for _ in gone:
            proxy.upstream.arrived.clear()
            async with nothing_left(proxy.url), caller(proxy.url, body(stream=stream)):
                await proxy.upstream.arrived.wait()
        response = await proxy.post(body(stream=stream))

    assert response.status_code == 200
    assert len(proxy.upstream.received) == 21


async def test_one_that_waits_for_a_connection_gives_up_its_place() -> None:
    first = Raw(before_head=asyncio.Event())
    async with start_proxy(first, reply("Hi"), max_connections=1) as proxy:
        async with nothing_left(proxy.url), caller(proxy.url, body()):
            await proxy.upstream.arrived.wait()
            async with caller(proxy.url, body()):
                pass
        response = await proxy.post(body())

    assert response.status_code == 200
    assert len(proxy.upstream.received) == 2
