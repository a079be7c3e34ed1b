"""State and its bounds: C40 to C44."""

import asyncio
import os
import statistics
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from redis.asyncio import Redis

from bench.ops.check import NotRun, check, expect
from bench.ops.rig import (
    MEGABYTE,
    Clock,
    Replica,
    body,
    open_stream,
    raced,
    reply,
    search,
    serving,
    tool,
)
from bench.process import free_port
from tests.builders import dumps, request
from tests.stores import Server, executable, redis_server

SOAK_SECONDS = float(os.environ.get("SOAK_SECONDS", "30"))


@asynccontextmanager
async def _redis() -> AsyncIterator[Server]:
    try:
        executable()
    except AssertionError as reason:
        raise NotRun(str(reason)) from None
    with tempfile.TemporaryDirectory() as folder:
        async with redis_server(Path(folder)) as server:
            yield server


async def _milliseconds(replica: Replica, count: int) -> list[float]:
    took = []
    for _ in range(count):
        clock = Clock()
        assert (await replica.post(_asked())).status_code == 200, "a request failed"
        took.append(clock.seconds * 1000)
    return took


def _asked() -> bytes:
    """A second turn, whose first is looked up."""
    said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    return dumps(request() | {"messages": [*said, {"role": "user", "content": "c"}]})


@check("C40", "Redis frozen under load", "all 200; +<=250 ms once, then +<=5 ms; told once; ready")
async def frozen() -> str:
    async with (
        _redis() as redis,
        serving(reply("x"), store="redis", redis_url=redis.url) as replica,
    ):
        before = statistics.median(await _milliseconds(replica, 50))
        redis.freeze()
        first, *others = await _milliseconds(replica, 50)
        ready = (await replica.client.get(replica.admin + "/readyz")).status_code
        redis.thaw()
        told = [line for line in replica.log().splitlines() if '"store' in line or "redis" in line]
    more = statistics.median(others) - before
    actual = (
        f"first {first - before:+.0f} ms, then {more:+.1f} ms, {len(told)} lines, ready {ready}"
    )
    in_time = first - before <= 300 and more <= 5
    return expect(len(told) <= 2 and ready == 200, actual, in_time=in_time)


@check("C41", "Redis absent, flushed, wrong type, 1 MB of junk", "it starts and all are 200")
async def odd_redis() -> str:
    nowhere = f"redis://127.0.0.1:{free_port()}/0"
    statuses = []
    async with serving(reply("x"), store="redis", redis_url=nowhere) as replica:
        statuses += [(await replica.post(_asked())).status_code for _ in range(3)]
    script = [reply("b"), reply(search("s", "x")), reply("y")]
    async with (
        _redis() as redis,
        serving(*script, store="redis", redis_url=redis.url) as replica,
    ):
        driver = Redis.from_url(redis.url)
        junks: list[bytes | list[str] | None] = [None, b"x" * MEGABYTE, b"\xff", []]
        for junk in junks:
            await replica.post(body())
            for key in await driver.keys():
                await driver.delete(key)
                if isinstance(junk, list):
                    await driver.rpush(key, "x")
                elif junk is not None:
                    await driver.set(key, junk)
            statuses.append((await replica.post(_asked())).status_code)
        await driver.aclose()
        faults = replica.log().count('"level":"error"')
    return expect({*statuses} == {200}, f"{statuses}, {faults} errors logged")


@check("C42", "tenants with the same ids and tool names", "nothing of another's is ever shown")
async def isolation() -> str:
    async with serving(reply("x")) as replica:
        wrong = 0
        for turn in range(40):
            key = f"Bearer {turn % 4}"
            tools = [tool(f"t{turn % 4}_{n}", f"secret-{turn % 4}") for n in range(30)]
            replica.upstream.script = [reply(search("same", "secret tool")), reply("Done.")]
            replica.upstream.received.clear()
            await replica.post(body(tools), authorization=key)
            sent = b"".join(one.body for one in replica.upstream.received)
            wrong += sum(
                f"secret-{other}".encode() in sent for other in range(4) if other != turn % 4
            )
    return expect(not wrong, f"{wrong} of 40 turns show another's")


@check("C43", "a member of one request, and a request without it", "not in the second's body")
async def sticking() -> str:
    async with serving(reply("x")) as replica:
        await replica.post(body(dry_multiplier=0.8, seed=7))
        await replica.post(body())
        last = replica.upstream.requests[-1]
    stuck = {"dry_multiplier", "seed"} & last.keys()
    return expect(not stuck, f"stuck: {sorted(stuck)}")


async def _metrics(replica: Replica) -> str:
    return (await replica.client.get(replica.admin + "/metrics")).text


@check("C44", f"{SOAK_SECONDS:.0f} s of new tenants and tools, cancels, failures", "memory flat")
async def bounded() -> str:
    return await soak(SOAK_SECONDS)


async def soak(seconds: float, tenants: int = 10_000) -> str:
    """Load with new tenants and new tools, a third of it cancelled or failing; how memory and
    open files have grown since a third of the time."""
    limits = {"catalog_cache_mb": 8, "store_mb": 8, "store_entries": 1_000}
    async with serving(reply("x"), **limits) as replica:
        clock, sizes = Clock(), []

        async def ask(number: int) -> None:
            tools = [tool(f"t{number}_{n}", "Does it. " * 20, id="string") for n in range(20)]
            sent = body(tools, stream=bool(number % 2))
            if number % 5 == 0:
                async with open_stream(replica, sent):
                    await asyncio.sleep(0.005)
                return
            if number % 7 == 0:
                replica.upstream.script = [500, reply("x")]
            await replica.post(sent, authorization=f"Bearer {number % tenants}")

        number = 0
        while clock.seconds < seconds:
            await raced((ask(number + n) for n in range(100)), 10)
            number += 100
            replica.upstream.received.clear()
            sizes.append((clock.seconds, replica.resident() / MEGABYTE, replica.files()))
        async with asyncio.timeout(30):
            while "toolfold_inflight_requests 0" not in await _metrics(replica):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    settled = [one for one in sizes if one[0] > seconds / 3] or sizes[-2:]
    minutes = max((settled[-1][0] - settled[0][0]) / 60, 0.01)
    slope = (settled[-1][1] - settled[0][1]) / minutes
    actual = f"{number} requests, {settled[0][1]:.0f} to {settled[-1][1]:.0f} MB "
    actual += f"({slope:+.1f} MB/min), files {settled[-1][2] - settled[0][2]:+d}"
    most = 0.5 if seconds >= 300 else 30
    return expect(slope < most and settled[-1][2] - settled[0][2] < 20, actual)
