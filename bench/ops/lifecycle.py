"""Starting and leaving: C36 to C39."""

import asyncio
import csv
import resource
import signal
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from statistics import median

import httpx2

from bench.ops.check import NotRun, check, expect
from bench.ops.rig import (
    Clock,
    Raw,
    Replica,
    Upstream,
    body,
    events,
    needs_setting,
    package,
    reply,
    serving,
    started,
    streamed,
    upstream,
)
from bench.process import free_port
from tests.test_doctor import toolfold
from tests.upstream import Scripted

_CHUNKS = [events(one, done=False) for one in streamed(reply("Hello there"))]
_CHUNKS = [b"".join(_CHUNKS[:3]), *_CHUNKS[3:], b"data: [DONE]\n\n"]


@check("C36", "SIGTERM in a stream", "not ready in 200 ms, new ones 200, [DONE], exit 0 in time")
async def drain() -> str:
    gate = asyncio.Event()
    script: list[Scripted] = [Raw(parts=_CHUNKS, gate=gate), reply("x")]
    async with serving(*script, drain_delay=2, grace=20) as replica:
        sent = body(stream=True)
        async with replica.client.stream(
            "POST", replica.url + "/chat/completions", content=sent
        ) as stream:
            reads = stream.aiter_raw()
            await anext(reads)
            clock = Clock()
            replica.process.send_signal(signal.SIGTERM)
            async with httpx2.AsyncClient(timeout=30) as another:
                while (await another.get(replica.admin + "/readyz")).status_code != 503:
                    pass
                noticed = clock.seconds * 1000
            late = (await replica.post(body())).status_code
            asyncio.get_running_loop().call_later(5, gate.set)
            rest = b"".join([read async for read in reads])
        code = await asyncio.wait_for(replica.process.wait(), 20)
        left = clock.seconds
    done = rest.endswith(b"data: [DONE]\n\n")
    actual = f"not ready in {noticed:.0f} ms, late {late}, DONE {done}, exit {code} at {left:.1f} s"
    in_time = noticed < 200 and left < 22
    return expect(late == 200 and done and code == 0, actual, in_time=in_time)


_HAPROXY = """
global
    log stderr format raw local0 crit
defaults
    mode http
    option redispatch
    timeout connect 2s
    timeout client 60s
    timeout server 60s
    timeout check 5s
frontend apps
    bind 127.0.0.1:{port}
    default_backend replicas
frontend state
    bind 127.0.0.1:{state}
    stats enable
    stats uri /
backend replicas
    option httpchk GET /readyz
    default-server check inter 200ms fall 1 rise 1
    server one 127.0.0.1:{one} port {one_admin}
    server two 127.0.0.1:{two} port {two_admin}
"""


class _Tally:
    """How the requests went."""

    def __init__(self) -> None:
        self.fine = 0
        self.streams = 0
        self.wrong: list[str] = []


@check("C37", "two replicas behind haproxy, 20 restarts, load", "no failure, no cut", "haproxy")
async def rolling() -> str:
    return await roll(restarts=20)


async def roll(restarts: int) -> str:
    """Restart two replicas in turn while requests and streams go through haproxy."""
    program = package("haproxy", "haproxy")
    keys = ("port", "state", "one", "one_admin", "two", "two_admin")
    ports = {key: free_port() for key in keys}
    tally, stop = _Tally(), asyncio.Event()
    said = Raw(parts=_CHUNKS)
    async with upstream(said) as behind, AsyncExitStack() as stack:
        replicas = [
            await _replica(stack, behind, ports["one"], ports["one_admin"]),
            await _replica(stack, behind, ports["two"], ports["two_admin"]),
        ]
        await stack.enter_async_context(
            _balancer(program, _HAPROXY.format(**ports), ports["state"])
        )
        url = f"http://127.0.0.1:{ports['port']}/v1/chat/completions"
        load = [asyncio.create_task(_ask(url, stop, tally)) for _ in range(5)]
        load += [asyncio.create_task(_stream(url, behind, stop, tally)) for _ in range(20)]
        for number in range(restarts):
            await _both_up(ports["state"])
            side = number % 2
            code = await replicas[side].leave(40)
            tally.wrong += [] if code == 0 else [f"exit {code}"]
            names = ("one", "one_admin") if side == 0 else ("two", "two_admin")
            replicas[side] = await _replica(stack, behind, *(ports[name] for name in names))
        await _both_up(ports["state"])
        stop.set()
        await asyncio.gather(*load)
    actual = f"{restarts} restarts, {tally.fine} requests, {tally.streams} streams, "
    actual += f"{len(tally.wrong)} failed {sorted({*tally.wrong})[:3] or ''}"
    return expect(not tally.wrong and tally.fine > restarts, actual.strip())


async def _both_up(port: int) -> None:
    """The balancer has noticed that both are ready: what a rolling update waits for."""
    async with httpx2.AsyncClient(trust_env=False) as client, asyncio.timeout(60):
        for name in ("one", "two"):
            up = ""
            while up != "UP":
                await asyncio.sleep(0.1)
                table = (await client.get(f"http://127.0.0.1:{port}/;csv")).text
                rows = csv.DictReader(table.removeprefix("# ").splitlines())
                up = next((row["status"] for row in rows if row["svname"] == name), "")


async def _replica(stack: AsyncExitStack, behind: Upstream, port: int, admin: int) -> Replica:
    settings = {"port": port, "admin_port": admin, "drain_delay": 2, "grace": 30}
    return await stack.enter_async_context(started(behind, **settings))


@asynccontextmanager
async def _balancer(program: str, config: str, port: int) -> AsyncIterator[None]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "haproxy.cfg"
        path.write_text(config)
        process = await asyncio.create_subprocess_exec(
            *(program, "-db", "-f", str(path)), stderr=asyncio.subprocess.DEVNULL
        )
        try:
            async with asyncio.timeout(30):
                while not _listens(port):  # noqa: ASYNC110 (another process)
                    await asyncio.sleep(0.1)
            yield
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def _ask(url: str, stop: asyncio.Event, tally: _Tally) -> None:
    """Ten requests a second."""
    async with httpx2.AsyncClient(timeout=60, trust_env=False) as client:
        while not stop.is_set():
            await _one(client, url, tally)
            await asyncio.sleep(0.1)


async def _stream(url: str, behind: Upstream, stop: asyncio.Event, tally: _Tally) -> None:
    """One stream of some seconds after the other."""
    async with httpx2.AsyncClient(timeout=60, trust_env=False) as client:
        while not stop.is_set():
            await asyncio.sleep(0.5)
            tally.streams += await _one(client, url, tally)


async def _one(client: httpx2.AsyncClient, url: str, tally: _Tally) -> bool:
    try:
        response = await client.post(url, content=body(stream=True))
    except httpx2.HTTPError as error:
        tally.wrong.append(type(error).__name__)
        return False
    whole = response.status_code == 200 and response.content.endswith(b"data: [DONE]\n\n")
    tally.wrong += [] if whole else [f"status {response.status_code}"]
    tally.fine += whole
    return whole


@check("C38", "a collector of traces that never answers", "p50 +<0.2 ms, exit +<=3 s")
async def mute_collector() -> str:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        endpoint = f"http://127.0.0.1:{mute.getsockname()[1]}"
        async with (
            serving(reply("x"), drain_delay=0) as plain,
            serving(reply("x"), drain_delay=0, otlp_endpoint=endpoint) as telling,
        ):
            differences = []
            for _ in range(8):  # the middle of them: other work on the machine comes in bursts
                took: list[list[float]] = [[], []]
                for _ in range(100):
                    for at, replica in enumerate((plain, telling)):
                        clock = Clock()
                        await replica.post(body())
                        took[at].append(clock.seconds)
                differences.append(median(took[1]) - median(took[0]))
            ended = []
            for replica in (plain, telling):
                clock = Clock()
                await replica.leave(60)
                ended.append(clock.seconds)
    added, later = median(differences), ended[1] - ended[0]
    actual = f"p50 {added * 1000:+.2f} ms, exit {later:+.1f} s"
    return expect(added < 0.0002 and later <= 3, actual)


@check("C39", "a wrong key, a wrong type, a file that is not there", "exit 2 in 2 s with the place")
async def bad_config() -> str:
    said, took = [], []
    cases: list[tuple[list[str], str]] = [
        (["--min-saving", "7"], "min-saving"),
        (["--port", "x"], "port"),
        (["--upstream", "nowhere"], "upstream"),
        (["--no-such-flag"], "no-such-flag"),
    ]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "policies.yaml"
        path.write_text("version: 1\ndefaults:\n  modee: on\n")
        with suppress(NotRun):
            needs_setting("policy_file", "policy file")
            cases.append((["--policy-file", str(path)], f"{path}:3"))
            cases.append((["--policy-file", "/nowhere.yaml"], "/nowhere.yaml"))
        for arguments, names in cases:
            before = _spent()
            code, _, told = await toolfold("serve", "--admin-port=0", *arguments)
            took.append(_spent() - before)
            said.append(code == 2 and names in told)
    files = "with" if len(cases) > 4 else "without"
    actual = f"{sum(said)}/{len(said)} exit 2 and say where, {max(took):.1f} s of processor at most"
    return expect(all(said), f"{actual}, {files} policy files", in_time=max(took) < 2)


def _spent() -> float:
    """Seconds of processor that ended children have taken: a busy machine adds none."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
