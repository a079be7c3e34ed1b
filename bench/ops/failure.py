"""An upstream that fails, and too many clients: C31 to C35."""

import asyncio
import random

from bench.ops.check import check, expect
from bench.ops.rig import (
    JSON,
    Clock,
    Raw,
    Replica,
    body,
    open_stream,
    raced,
    reply,
    search,
    serving,
)
from bench.process import free_port
from tests.upstream import Scripted


async def _failing(url: str) -> tuple[int, str, float]:
    async with serving(reply("x"), upstream=url) as replica:
        clock = Clock()
        response = await replica.post(body())
        return response.status_code, response.json()["error"]["code"], clock.seconds


@check("C31", "refused, no such name, TLS that fails, garbage", "502 in 1 s; the code says which")
async def unreachable() -> str:
    async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        writer.close()

    server = await asyncio.start_server(garbage, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        said = {
            "refused": await _failing(f"http://127.0.0.1:{free_port()}/v1"),
            "name": await _failing("http://nowhere.invalid/v1"),
            "TLS": await _failing(f"https://127.0.0.1:{port}/v1"),
            "garbage": await _failing(f"http://127.0.0.1:{port}/v1"),
        }
    codes = {name: code for name, (_, code, _) in said.items()}
    fine = all(status == 502 for status, _, _ in said.values()) and len({*codes.values()}) == 4
    slowest = max(seconds for *_, seconds in said.values())
    return expect(fine, f"{codes}, slowest {slowest * 1000:.0f} ms", in_time=slowest < 1)


@check("C32", "refused once; a 500; a timeout", "tried again only if not accepted; said not to")
async def retries() -> str:
    port = free_port()
    heard: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        writer.close()

    async with serving(reply("x"), upstream=f"http://127.0.0.1:{port}/v1") as replica:
        refused = await replica.post(b"{}")
        server = await asyncio.start_server(answer, "127.0.0.1", port)
        async with server:
            after = (await replica.post(b"{}")).status_code
    async with serving(500, Raw(before_head=asyncio.Event()), first_byte_timeout=1) as replica:
        error = await replica.post(body())
        late = await replica.post(body())
        sent = len(replica.upstream.received)
    kept = error.headers["retry-after"] == "9" and error.headers["x-request-id"] == "req-1"
    told = "x-should-retry" not in refused.headers and late.headers["x-should-retry"] == "false"
    actual = f"refused {refused.status_code} then {after}; 500 and 504 sent {sent} times; {told}"
    return expect(after == 200 and sent == 2 and kept and told, actual)


@check("C33", "200 clients where 20 fit", "20 served, the others 503 in 50 ms; health answers")
async def shedding() -> str:
    gate = asyncio.Event()
    async with serving(Raw(b"{}", 200, JSON, before_head=gate), max_inflight=20) as replica:
        await replica.client.get(replica.admin + "/healthz")
        took: list[float] = []
        statuses: list[int] = []
        retry: set[str] = set()

        async def ask() -> None:
            clock = Clock()
            response = await replica.post(b"{}", "/models")
            statuses.append(response.status_code)
            if response.status_code == 503:
                took.append(clock.seconds * 1000)
                retry.add(response.headers.get("retry-after", ""))

        first = [asyncio.create_task(ask()) for _ in range(20)]
        await _taken(replica, 20)
        others = [asyncio.create_task(ask()) for _ in range(180)]
        paths = ("healthz", "readyz")
        alive = [(await replica.client.get(f"{replica.admin}/{p}")).status_code for p in paths]
        await asyncio.gather(*others)
        gate.set()
        await asyncio.gather(*first)
        again = (await replica.post(b"{}", "/models")).status_code
        quick = []
        blocked = asyncio.Event()
        replica.upstream.script = [Raw(b"{}", 200, JSON, before_head=blocked)]
        held = [asyncio.create_task(replica.post(b"{}", "/models")) for _ in range(20)]
        await asyncio.sleep(0.5)
        for _ in range(20):  # one at a time: what 180 at once wait for is the client
            clock = Clock()
            quick.append(((await replica.post(b"{}", "/models")).status_code, clock.seconds))
        blocked.set()
        await asyncio.gather(*held)
    served, shed = statuses.count(200), statuses.count(503)
    slow = sorted(seconds for _, seconds in quick)[10] * 1000
    actual = f"{served} served, {shed} shed in {slow:.0f} ms, health {alive}, then {again}"
    fine = served == 20 and shed == 180 and retry == {"1"} and alive == [200, 200]
    return expect(fine and slow < 50 and again == 200, actual)


@check("C34", "5,000 ends of all kinds where 20 fit", "then 20 fit again, exactly")
async def leaks() -> str:
    source = random.Random(7)
    endings: list[Scripted] = [
        reply("x"),
        500,
        Raw(b"junk", 200, JSON),
        Raw(b"{", 200, JSON, cut=True),
        Raw(before_head=asyncio.Event()),
    ]
    script = [source.choice(endings) for _ in range(5_000)]
    async with serving(*script, max_inflight=20, first_byte_timeout=0.1) as replica:

        async def ask(number: int) -> None:
            sent = body(stream=bool(number % 2))
            if number % 3 == 0:
                async with open_stream(replica, sent):
                    await asyncio.sleep(0.001 * (number % 20))
            else:
                await replica.post(sent)

        before = replica.files()
        await raced((ask(number) for number in range(5_000)), 18)
        fit = await _fit(replica)
        files = replica.files() - before
    return expect(fit == 20, f"{fit} fit, {files:+d} open files")


async def _fit(replica: Replica) -> int:
    """How many requests are taken at a time."""
    gate = asyncio.Event()
    await asyncio.sleep(1)
    replica.upstream.script = [Raw(b"{}", 200, JSON, before_head=gate)]
    asked = [asyncio.create_task(replica.post(b"{}", "/models")) for _ in range(30)]
    while sum(one.done() for one in asked) < 10:  # those that are turned away
        await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED, timeout=0.1)
    gate.set()
    return sum(one.status_code == 200 for one in await asyncio.gather(*asked))


async def _taken(replica: Replica, count: int) -> None:
    """Wait until the upstream has got so many requests."""
    while len(replica.upstream.received) < count:
        replica.upstream.arrived.clear()
        await replica.upstream.arrived.wait()


@check("C35", "a model that searches for ever", "at most max_searches and 2 calls; a plain end")
async def endless_search() -> str:
    said = []
    for stream in (False, True):
        script = [reply(search(f"s{n}", f"weather {n}")) for n in range(30)]
        async with serving(*script, max_searches=5) as replica:
            response = await replica.post(body(stream=stream))
            said.append((response.status_code, len(replica.upstream.received)))
    fine = all(status in (200, 502) and rounds <= 7 for status, rounds in said)
    return expect(fine, f"status and rounds: {said}")
