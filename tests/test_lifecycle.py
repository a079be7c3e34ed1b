"""A real process, told to leave: what it takes, what it finishes, and how it ends."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import suppress

import httpx2
import pytest

from tests.builders import body, events, reply, streamed
from tests.replica import Replica, serving
from tests.test_doctor import toolfold
from tests.upstream import Raw

SAID = [events(one, done=False) for one in streamed(reply("Hello"))]
STREAM = [b"".join(SAID[:2]), *SAID[2:], b"data: [DONE]\n\n"]


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(timeout=20) as client:
        yield client


async def until_not_ready(client: httpx2.AsyncClient, replica: Replica) -> None:
    async with asyncio.timeout(5):
        while (await client.get(replica.admin + "/readyz")).status_code != 503:
            pass


async def test_a_replica_drains(client: httpx2.AsyncClient) -> None:
    """Not ready at once, still taking requests, with the running stream finished."""
    gate = asyncio.Event()
    said = Raw(parts=STREAM, gate=gate)
    async with serving(said, reply("x"), drain_delay=1) as replica:
        async with client.stream(
            "POST", replica.url + "/chat/completions", content=body(stream=True)
        ) as stream:
            reads = stream.aiter_raw()
            first = await anext(reads)
            replica.process.send_signal(signal.SIGTERM)
            await until_not_ready(client, replica)
            alive = await client.get(replica.admin + "/healthz")
            late = await client.post(replica.url + "/chat/completions", content=body())
            with suppress(httpx2.TransportError):
                while True:  # until the port is closed
                    async with httpx2.AsyncClient() as another:
                        await another.get(replica.url.removesuffix("/v1") + "/nowhere")
            gate.set()
            rest = b"".join([read async for read in reads])
        code = await asyncio.wait_for(replica.process.wait(), 10)

    assert (alive.status_code, late.status_code) == (200, 200)
    assert late.headers["connection"] == "close"
    assert (first + rest).endswith(b"data: [DONE]\n\n")
    assert code == 0


async def test_a_stream_that_outlasts_the_grace_is_cut(client: httpx2.AsyncClient) -> None:
    stuck = Raw(parts=STREAM[:2], stall=True)
    async with (
        serving(stuck, drain_delay=0, grace=1) as replica,
        client.stream(
            "POST", replica.url + "/chat/completions", content=body(stream=True)
        ) as stream,
    ):
        await anext(stream.aiter_raw())
        replica.process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(replica.process.wait(), 15)

    assert code == 0


async def test_a_terminal_does_not_wait() -> None:
    async with serving(reply("x"), drain_delay=3_600) as replica:
        replica.process.send_signal(signal.SIGINT)
        code = await asyncio.wait_for(replica.process.wait(), 15)

    assert code == 0


async def test_a_second_signal_ends_the_delay(client: httpx2.AsyncClient) -> None:
    async with serving(reply("x"), drain_delay=3_600) as replica:
        replica.process.send_signal(signal.SIGTERM)
        await until_not_ready(client, replica)
        replica.process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(replica.process.wait(), 15)

    assert code == 0


async def test_a_healthcheck_tells_life_from_readiness(client: httpx2.AsyncClient) -> None:
    async with serving(reply("x"), drain_delay=3_600) as replica:
        asked = ["healthcheck", "--admin-port", str(replica.admin_port)]
        before = [(await toolfold(*asked))[0], (await toolfold(*asked, "--ready"))[0]]
        replica.process.send_signal(signal.SIGTERM)
        await until_not_ready(client, replica)
        after = [(await toolfold(*asked))[0], (await toolfold(*asked, "--ready"))[0]]

    assert (before, after) == ([0, 0], [0, 1])
