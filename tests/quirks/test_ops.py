"""In operation: clients that leave, a process that is told to stop, callers side by side."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from tests.builders import body, call, dumps, events, reply, request, search, streamed, tool
from tests.conftest import start_proxy
from tests.quirks.seen import seen
from tests.test_disconnect import caller, closed, hidden, nothing_left
from tests.upstream import Raw, Received, upstream

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
WORDS = events(*list(streamed(reply("Hello there")))[:3], done=False)


@FRAMINGS
@pytest.mark.parametrize("strategy", ["promote", "wrap"])
@pytest.mark.parametrize("where", ["before the first token", "in hidden round 2", "in its words"])
async def test_Q093_a_client_that_leaves_ends_the_upstreams_work(
    where: str, strategy: str, stream: bool
) -> None:
    first = {
        "before the first token": Raw(before_head=asyncio.Event()),
        "in hidden round 2": hidden(stream),
        "in its words": Raw(WORDS, stall=True),
    }[where]
    second = Raw(before_head=asyncio.Event())
    rounds = 2 if where == "in hidden round 2" else 1
    async with start_proxy(first, second, strategy=strategy) as proxy, nothing_left(proxy.url):
        async with caller(proxy.url, body(stream=stream)):
            while len(proxy.upstream.received) < rounds:
                proxy.upstream.arrived.clear()
                await proxy.upstream.arrived.wait()
        await closed(proxy)

    assert len(proxy.upstream.received) == rounds


@asynccontextmanager
async def process(base: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """A Toolfold of its own process, and its base URL."""
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        ports = [str(taken.getsockname()[1]) for taken in (one, two)]
    flags = ["--upstream", base, "--port", ports[0], "--admin-port", ports[1]]
    command = [sys.executable, "-m", "app", "serve", "--mode", "on", *flags]
    started = await asyncio.create_subprocess_exec(
        *command, stderr=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    try:
        assert started.stderr is not None
        async with asyncio.timeout(60):
            heard = 0
            while heard < 2:
                line = await started.stderr.readline()
                assert line, "it listens before it ends"
                heard += b'"listening"' in line
        yield started, f"http://127.0.0.1:{ports[0]}/v1"
    finally:
        if started.returncode is None:
            started.kill()
        await started.communicate()


async def test_Q096_a_stream_that_is_open_outlives_the_signal() -> None:
    """An open stream ends as it should, then the process does, with 0. That new requests are
    served for a while, and what a chart needs for it, is specified with the edge."""
    gate = asyncio.Event()
    chunks = list(streamed(reply("Hello there")))
    parted = [events(*chunks[:3], done=False), events(*chunks[3:])]
    async with (
        upstream(Raw(parts=parted, gate=gate)) as behind,
        process(behind.url) as (started, url),
        httpx2.AsyncClient(timeout=30) as client,
    ):
        async with client.stream("POST", f"{url}/chat/completions", content=body(stream=True)) as r:
            parts = r.aiter_bytes()
            heard = await anext(parts)
            started.send_signal(signal.SIGTERM)
            gate.set()
            heard += b"".join([part async for part in parts])
        async with asyncio.timeout(30):
            code = await started.wait()

    assert heard.endswith(b"data: [DONE]\n\n")
    assert code == 0


def catalog(secret: str) -> list[Any]:
    """The same names for everybody, with descriptions of their own."""
    return [tool(f"crm__get_{at:02}", f"Reads the {secret} of record {at}.") for at in range(60)]


def echoing(received: Received) -> Any:
    """A model that searches, then says what it has found, at the caller's own price."""
    asked = received.json
    key = received.header("authorization")[0]
    results = [m["content"] for m in asked["messages"] if m["role"] == "tool"]
    if not results:
        return reply(search(f"s-{key[-1]}", "select:crm__get_07"))
    (found, *_) = json.loads(results[-1])["tools"]
    said = reply(found["description"])
    price = {"a": 1, "b": 100}[key[-1]]
    said["usage"] = {"prompt_tokens": price, "completion_tokens": price, "total_tokens": 2 * price}
    return said


@FRAMINGS
async def test_Q098_nobody_gets_what_is_anothers(stream: bool) -> None:
    secrets = {"a": "apple", "b": "banana"}

    async with start_proxy(echoing) as proxy:

        async def one(key: str, number: int) -> tuple[str, Any]:
            members = {"stream_options": {"include_usage": True}} if stream else {}
            asked = request(catalog(secrets[key]), f"Question {number}", stream=stream, **members)
            sent = {"authorization": f"Bearer key-{key}"}
            return key, await proxy.post(dumps(asked), **sent)

        answers = await asyncio.gather(*(one("ab"[n % 2], n // 2) for n in range(120)))

    for key, response in answers:
        other = secrets["ab".replace(key, "")]
        told = seen(response)
        assert told.text == f"Reads the {secrets[key]} of record 7."
        assert other.encode() not in response.content
        price = 11 + (1 if key == "a" else 100) * 2
        assert told.usage[-1]["total_tokens"] == price
    bodies = [(one.header("authorization")[0][-1], one.body) for one in proxy.upstream.received]
    assert not any(secrets["ab".replace(key, "")].encode() in sent for key, sent in bodies)


@FRAMINGS
async def test_Q098_what_one_callers_upstream_teaches_shows_nobody_anything(stream: bool) -> None:
    """Learned traits say how to write, never what was said."""
    secret = call("x1", "apple_secret", {})
    first = reply(search("s1", "apple"), secret, reasoning_content="apple plan")
    async with start_proxy(first, reply("Done.")) as proxy:
        await proxy.post(body(stream=stream), authorization="Bearer a")
        await proxy.post(body(stream=stream), authorization="Bearer b")

    assert b"apple" not in proxy.upstream.received[-1].body
