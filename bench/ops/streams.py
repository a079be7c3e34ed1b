"""Streams and clients that leave: C21 to C30."""

import asyncio
import json
import statistics
import time

import httpx2

from bench.ops.check import check, expect
from bench.ops.rig import (
    MEGABYTE,
    Clock,
    Raw,
    Replica,
    body,
    connected,
    events,
    head,
    open_stream,
    raced,
    reply,
    search,
    serving,
    streamed,
)
from tests.quirks.seen import datas

_CHUNKS = [events(one, done=False) for one in streamed(reply("Hello there, how are you?"))]
_SPOKEN = events(*streamed(reply("Let me see.", search("s", "weather"))))


def _silent() -> Raw:
    return Raw(before_head=asyncio.Event())


async def _closes(replica: Replica, content: bytes, after: int, until: bytes = b"") -> float:
    """Hang up at the upstream's request of this number, once this was read; seconds until the
    upstream's connection is closed too."""
    upstream = replica.upstream
    async with open_stream(replica, content) as reader:
        while len(upstream.received) < after:
            upstream.arrived.clear()
            await upstream.arrived.wait()
        if until:
            await reader.readuntil(until)
        upstream.closed.clear()
    clock = Clock()
    async with asyncio.timeout(10):
        await upstream.closed.wait()
    return clock.seconds


@check("C21", "the client of a buffered request leaves", "upstream closed in 1 s, no error logged")
async def leaves_buffered() -> str:
    async with serving(_silent()) as replica:
        seconds = await _closes(replica, body(), 1)
        await asyncio.sleep(0.2)
        log = replica.log()
    gone = '"client_gone"' in log or '"client_closed"' in log
    actual = f"closed in {seconds * 1000:.0f} ms, told as the client's {gone}"
    return expect(gone and '"level":"error"' not in log, actual, in_time=seconds <= 1)


@check(
    "C22", "it leaves before the first byte, in a stream, between rounds", "closed, no round more"
)
async def leaves_streamed() -> str:
    wide: list[tuple[list[Raw], int, bytes]] = [
        ([_silent()], 1, b""),
        ([Raw(b"".join(_CHUNKS[:3]), stall=True)], 1, b"Hel"),
        ([Raw(_SPOKEN), _silent()], 2, b""),
    ]
    took, rounds = [], []
    for script, after, until in wide:
        async with serving(*script) as replica:
            took.append(await _closes(replica, body(stream=True), after, until))
            await asyncio.sleep(0.3)
            rounds.append(len(replica.upstream.received) - after)
    actual = f"closed in {max(took) * 1000:.0f} ms at most, rounds more: {rounds}"
    return expect(not any(rounds), actual, in_time=max(took) <= 1)


@check("C23", "2,000 cancels, 40 at a time, over 10 connections, then 30 calls", "30 x 200")
async def cancels() -> str:
    answer = Raw(parts=_CHUNKS, repeat=None)
    slow = Raw(parts=[b"", *_CHUNKS], gate=asyncio.Event())

    async with serving(slow, max_connections=10, connect_timeout=5) as replica:

        async def cancelled(number: int) -> None:
            async with open_stream(replica, body(stream=bool(number % 2))):
                await asyncio.sleep(0.001 * (number % 25))

        await raced((cancelled(number) for number in range(2_000)), 40)
        replica.upstream.script = [answer]
        said = [await replica.post(body(stream=True)) for _ in range(30)]
        fine = sum(one.status_code == 200 for one in said)
        open_now = replica.upstream.connections
        log = replica.log()
    actual = f"{fine} x 200, {log.count('overloaded')} timeouts of the pool, {open_now} connections"
    return expect(fine == 30 and open_now <= 10, actual)


@check("C24", "a client that reads 1 KB/s of 500 MB", "memory +<8 MB, and the send timeout ends it")
async def slow_reader() -> str:
    endless = Raw(parts=[b"data: " + b"x" * 65_536 + b"\n\n"], repeat=0)
    said = []
    for mode in ("on", "off"):
        async with (
            serving(endless, mode=mode, send_timeout=3) as replica,
            connected(replica.url) as (reader, writer),
            asyncio.timeout(90),
        ):
            writer.write(head(body(stream=True)))
            before = replica.resident()
            while not replica.upstream.closed.is_set():
                await reader.read(1024)
                await asyncio.sleep(1)
                said.append((replica.resident() - before) / MEGABYTE)
    return expect(max(said) < 8, f"memory {max(said):+.1f} MB, ended")


async def _speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Twenty chunks a second, each with the time at which it was written."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
    for _ in range(60):
        chunk = reply("x") | {"object": "chat.completion.chunk", "at": str(time.monotonic())}
        chunk["choices"] = [{"index": 0, "delta": {"content": "x"}, "finish_reason": None}]
        writer.write(events(chunk, done=False))
        await writer.drain()
        await asyncio.sleep(0.05)
    writer.close()


async def _late(client: httpx2.AsyncClient, url: str) -> tuple[float, httpx2.Response]:
    """Milliseconds from the write of a chunk to its read, the 99th percentile of them."""
    took = []
    sent = body(stream=True)
    async with client.stream("POST", url + "/chat/completions", content=sent) as response:
        async for line in response.aiter_lines():
            if '"at"' in line:
                took.append(time.monotonic() - float(json.loads(line[6:])["at"]))
    return statistics.quantiles(took, n=100)[98] * 1000, response


@check("C25", "20 chunks a second", "p99 added per chunk <5 ms; headers forbid buffering")
async def unbuffered() -> str:
    server = await asyncio.start_server(_speak, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server, serving(reply("x"), upstream=url) as replica:
        through, response = await _late(replica.client, replica.url)
        directly, _ = await _late(replica.client, url)
    headers = response.headers
    right = headers["x-accel-buffering"] == "no" and headers["cache-control"] == "no-cache"
    actual = f"p99 {through:.1f} ms, without us {directly:.1f} ms, headers {right}"
    return expect(through - directly < 5 and right, actual)


@check("C26", "a stream with CJK, emoji, CRLF and LF, cut at every byte", "the same bytes")
async def cut_anywhere() -> str:
    wrong, count = 0, 0
    async with serving(reply("x"), mode="off") as relaying, serving(reply("x")) as folding:
        for end in (b"\n\n", b"\r\n\r\n"):
            whole = events(*streamed(reply("日本 😀 né", search("c", "x")), cut=99))
            whole = whole.replace(b"\n\n", end)
            plain = events(*streamed(reply("日本 😀 né"), cut=99)).replace(b"\n\n", end)
            for replica, said in ((relaying, whole), (folding, plain)):
                expected = None
                for at in range(1, len(said), 3 if replica is folding else 5):
                    replica.upstream.script = [Raw(parts=[said[:at], said[at:]])]
                    got = (await replica.post(body(stream=True))).content
                    expected = expected or (said if replica is relaying else got)
                    wrong += got != expected
                    count += 1
                wrong += expected is None or "😀".encode() not in expected
    return expect(not wrong, f"{count - wrong}/{count} equal")


@check("C27", "256 MB of stream without a newline", "one error event, memory +<16 MB")
async def endless_event() -> str:
    piece = b"x" * 262_144
    first = events(list(streamed(reply("Hello")))[1], done=False)
    said = Raw(parts=[first, b"data: ", *[piece] * 1024])
    async with serving(reply("x"), said) as replica:
        await replica.post(body())
        before = replica.resident()
        response = await replica.post(body(stream=True))
        grown = (replica.resident() - before) / MEGABYTE
    errors = [one for one in datas(response.content) if '"error"' in one]
    done = b"[DONE]" in response.content
    actual = f"{len(errors)} error events, DONE {done}, memory {grown:+.0f} MB"
    return expect(len(errors) == 1 and not done and grown < 16, actual)


@check("C28", "the upstream dies after 3 chunks", "one error event, no [DONE], the SDK raises")
async def dies() -> str:
    import openai

    async with serving(Raw(b"".join(_CHUNKS[:4]), cut=True)) as replica:
        response = await replica.post(body(stream=True))
        client = openai.AsyncOpenAI(api_key="k", base_url=replica.url, max_retries=0)
        raised = "nothing"
        try:
            stream = await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "x"}], stream=True
            )
            async for _ in stream:
                pass
        except openai.APIError as error:
            raised = type(error).__name__
        await client.close()
    errors = [one for one in datas(response.content) if '"error"' in one]
    done = b"[DONE]" in response.content
    actual = f"{len(errors)} error events, DONE {done}, the SDK raises {raised}"
    return expect(len(errors) == 1 and not done and raised == "APIError", actual)


@check("C29", "mute before the head, mute in a stream, endless", "504; error event; ended at total")
async def timeouts() -> str:
    limits = {"first_byte_timeout": 1, "read_timeout": 1, "total_timeout": 3}
    begun = b"".join(_CHUNKS[:3])
    script = [_silent(), Raw(begun, stall=True), Raw(parts=_CHUNKS[1:2], repeat=0.05)]
    async with serving(*script, **limits) as replica:
        mute = (await replica.post(body(stream=True))).status_code
        idle = (await replica.post(body(stream=True))).content
        clock = Clock()
        endless = (await replica.post(body(stream=True))).content
        seconds = clock.seconds
    said = [one.count(b'"upstream_timeout"') for one in (idle, endless)]
    actual = f"{mute}; {said[0]} error event; {said[1]} at {seconds:.1f} s of 3"
    return expect(mute == 504 and said == [1, 1] and seconds > 2.5, actual, in_time=seconds < 4)


@check(
    "C30", "20 s of silence in the search's rounds", "comments only where enabled, none before 10 s"
)
async def comments() -> str:
    said = []
    for after in (0, 10):
        gate = asyncio.Event()
        script = [Raw(events(*streamed(reply(search("s", "x")))))]
        script.append(Raw(events(*streamed(reply("Done."))), before_head=gate))
        async with serving(*script, comment_after=after) as replica:
            clock, heard = Clock(), []
            asyncio.get_running_loop().call_later(21, gate.set)
            async with (
                httpx2.AsyncClient(timeout=40) as client,
                client.stream(
                    "POST", replica.url + "/chat/completions", content=body(stream=True)
                ) as response,
            ):
                async for line in response.aiter_lines():
                    heard += [clock.seconds] if line.startswith(":") else []
        said.append(heard)
    actual = f"off: {len(said[0])}, on: {len(said[1])}, first at {min(said[1], default=0):.0f} s"
    return expect(not said[0] and said[1] and min(said[1]) >= 9.9, actual)
