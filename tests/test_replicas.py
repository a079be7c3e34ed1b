"""Two Toolfolds behind a load balancer: a conversation goes on whichever of them answers."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import httpx2
import pytest
from redis.asyncio import Redis

from app.core.chunks import as_completion, fold
from app.core.codec import Json
from app.settings import Settings
from bench.process import free_port
from tests.builders import dumps, reply
from tests.client import TOOLS, TURNS, is_valid, real
from tests.conftest import running
from tests.stores import Server, redis_server
from tests.test_conversation import continues
from tests.upstream import Upstream, upstream

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
STRATEGIES = pytest.mark.parametrize("strategy", ["promote", "wrap"])
ALONE = pytest.mark.parametrize("store", ["memory", "none"])


class Replicas:
    """Toolfolds that take turns, and one app that talks to them."""

    def __init__(self, behind: Upstream, settings: Settings, stream: bool) -> None:
        self.upstream = behind
        self.urls: list[str] = []
        self.messages: list[Json] = [{"role": "system", "content": "Be brief."}]
        self._settings = settings
        self._stream = stream
        self._stops: list[AsyncExitStack] = []
        self._client = httpx2.AsyncClient(timeout=20)
        self._turn = 0

    async def start(self) -> None:
        stack = AsyncExitStack()
        self.urls.append(await stack.enter_async_context(running(self._settings)))
        self._stops.append(stack)

    async def stop(self, at: int = 0) -> None:
        """One less, for good."""
        del self.urls[at]
        await self._stops.pop(at).aclose()

    async def aclose(self) -> None:
        while self.urls:
            await self.stop()
        await self._client.aclose()

    def body(self) -> bytes:
        asked = {"model": "m", "messages": self.messages, "tools": TOOLS, "stream": self._stream}
        return dumps(asked)

    async def post(self, url: str) -> httpx2.Response:
        headers = {"authorization": "Bearer key", "content-type": "application/json"}
        target = f"{url}/chat/completions"
        return await self._client.post(target, content=self.body(), headers=headers)

    async def turn(self, number: int) -> None:
        """The app's own loop: a question, or the results of the calls that it was told."""
        if self.messages[-1]["role"] != "tool":
            self.messages.append({"role": "user", "content": f"Question {number}"})
        self._turn += 1
        response = await self.post(self.urls[self._turn % len(self.urls)])
        assert response.status_code == 200
        assert response.headers["x-toolfold-decision"] == "folded"
        message = told(response)
        self.messages.append(message)
        for made in message.get("tool_calls") or []:
            result = {"role": "tool", "tool_call_id": made["id"], "content": "ok"}
            self.messages.append(result)

    @property
    def sent(self) -> list[bytes]:
        return [received.body for received in self.upstream.received]


def told(response: httpx2.Response) -> Json:
    """The message that the app keeps."""
    whole: Any = None
    if "event-stream" in response.headers["content-type"]:
        assert response.text.endswith("data: [DONE]\n\n")
        lines = [line for line in response.text.split("\n") if line.startswith("data: {")]
        whole = as_completion(fold(json.loads(line[6:]) for line in lines))
    message: Json = (whole or response.json())["choices"][0]["message"]
    assert not {c["function"]["name"] for c in message.get("tool_calls") or []} & OURS
    return message


OURS = {"tool_search", "call_tool"}


@asynccontextmanager
async def replicas(
    strategy: str, stream: bool, count: int = 2, **settings: Any
) -> AsyncIterator[Replicas]:
    """So many, before one upstream that plays the whole conversation."""
    script = [real(one, strategy) for turn in TURNS for one in turn]
    async with upstream(*script, reply("Bye.")) as behind:
        chosen: Json = {"upstream_base_url": behind.url, "mode": "on", "strategy": strategy}
        chosen["redis_timeout"] = 10  # a server that is there may be slow on a busy machine
        all_ = Replicas(behind, Settings.model_validate(chosen | settings), stream)
        try:
            for _ in range(count):
                await all_.start()
            yield all_
        finally:
            await all_.aclose()


def all_begin_with_the_one_before(sent: list[bytes]) -> None:
    for earlier, later in pairwise(sent):
        continues(later, earlier)
    for body in sent:
        is_valid(json.loads(body))


@FRAMINGS
@STRATEGIES
async def test_with_a_shared_store_every_request_begins_with_the_one_before_it(
    stream: bool, strategy: str, tmp_path: Path
) -> None:
    async with (
        redis_server(tmp_path) as redis,
        replicas(strategy, stream, store="redis", redis_url=redis.url) as both,
    ):
        for number in range(len(TURNS)):
            await both.turn(number)

    assert len(both.sent) == sum(map(len, TURNS))
    all_begin_with_the_one_before(both.sent)


@FRAMINGS
@STRATEGIES
@pytest.mark.parametrize("at", [4, 6])
async def test_with_a_shared_store_a_replica_may_stop_and_another_begin(
    stream: bool, strategy: str, at: int, tmp_path: Path
) -> None:
    """Between a search and what comes of it too: turns 4 and 6 go on from mixed rounds."""
    async with (
        redis_server(tmp_path) as redis,
        replicas(strategy, stream, store="redis", redis_url=redis.url) as both,
    ):
        for number in range(len(TURNS)):
            if number == at:
                await both.stop(number % 2)
            if number == at + 2:
                await both.start()
                await both.stop()
            await both.turn(number)

    assert len(both.sent) == sum(map(len, TURNS))
    all_begin_with_the_one_before(both.sent)


@FRAMINGS
@STRATEGIES
@ALONE
async def test_without_one_every_request_is_valid_and_a_replica_may_stop(
    stream: bool, strategy: str, store: str
) -> None:
    async with replicas(strategy, stream, store=store) as both:
        for number in range(len(TURNS)):
            if number == 5:
                await both.stop()
            await both.turn(number)

    assert len(both.sent) == sum(map(len, TURNS))
    for body in both.sent:
        is_valid(json.loads(body))


@STRATEGIES
async def test_one_replica_with_a_memory_is_as_good_as_many_that_share(
    strategy: str, tmp_path: Path
) -> None:
    async with replicas(strategy, False, count=1, store="memory") as one:
        for number in range(len(TURNS)):
            await one.turn(number)
    async with (
        redis_server(tmp_path) as redis,
        replicas(strategy, False, count=3, store="redis", redis_url=redis.url) as many,
    ):
        for number in range(len(TURNS)):
            await many.turn(number)

    assert many.sent == one.sent
    assert many.messages == one.messages


@FRAMINGS
@STRATEGIES
@pytest.mark.parametrize("store", ["redis", "none"])
async def test_replicas_write_the_same_bytes_for_the_same_request(
    stream: bool, strategy: str, store: str, tmp_path: Path
) -> None:
    async with (
        redis_server(tmp_path) as redis,
        replicas(strategy, stream, store=store, redis_url=redis.url) as both,
    ):
        for number in range(len(TURNS)):
            await both.turn(number)
            if both.messages[-1]["role"] != "tool":
                both.messages.append({"role": "user", "content": f"Question {number + 1}"})
            before = len(both.sent)
            both.upstream.script[before:before] = [reply("Ok."), reply("Ok.")]
            for url in both.urls:
                await both.post(url)
            one, other = both.sent[before:]
            assert one == other
            if both.messages[-1]["role"] != "tool":
                both.messages.pop()


Trouble = Callable[[Server], Any]


async def flush(server: Server) -> None:
    redis = Redis.from_url(server.url)
    await redis.flushall()
    await redis.aclose()


async def spoil(server: Server) -> None:
    """Values that are none of ours, and one that is no text at all."""
    redis = Redis.from_url(server.url)
    junk = [b"\xff", b"[]", b"x" * 2_000_000]
    keys = sorted(await redis.keys("toolfold:*"))
    for at, key in enumerate(keys):
        await redis.delete(key)
        if at % 4 == 3:
            await redis.lpush(key, b"x")
        else:
            await redis.set(key, junk[at % 4])
    assert keys
    await redis.aclose()


async def freeze(server: Server) -> None:
    server.freeze()


async def kill(server: Server) -> None:
    await server.stop()


TROUBLES: dict[str, Trouble] = {"flushed": flush, "spoilt": spoil, "frozen": freeze, "gone": kill}


@FRAMINGS
@STRATEGIES
@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
async def test_a_shared_store_in_trouble_costs_no_reply(
    stream: bool, strategy: str, trouble: Trouble, tmp_path: Path
) -> None:
    """In the middle of a mixed round. A frozen server is waited for once in a while, 0.2 s
    each time; here the limit is far below the driver's own 25 s, since machines are slow."""
    waited = 0.0
    async with (
        redis_server(tmp_path) as redis,
        replicas(strategy, stream, store="redis", redis_url=redis.url, redis_timeout=0.2) as both,
    ):
        for number in range(len(TURNS)):
            if number == 4:
                await trouble(redis)
            began = perf_counter()
            await both.turn(number)
            waited = max(waited, perf_counter() - began)

    assert len(both.sent) == sum(map(len, TURNS))
    assert waited < 5
    for body in both.sent:
        is_valid(json.loads(body))


@FRAMINGS
@STRATEGIES
async def test_a_shared_store_that_was_never_there_costs_no_reply(
    stream: bool, strategy: str
) -> None:
    """A replica on its own remembers what it can."""
    absent = f"redis://127.0.0.1:{free_port()}/0"
    async with replicas(strategy, stream, count=1, store="redis", redis_url=absent) as one:
        for number in range(len(TURNS)):
            await one.turn(number)

    all_begin_with_the_one_before(one.sent)
    assert len(one.sent) == sum(map(len, TURNS))
