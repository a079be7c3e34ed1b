"""What is told: C50 to C54."""

import asyncio
import json

from bench.ops.check import NotRun, check, expect
from bench.ops.rig import Raw, Replica, body, exchange, head, package, reply, search, serving, tool
from tests.builders import CATALOG, call
from tests.upstream import Scripted


async def _metrics(replica: Replica) -> str:
    page = await replica.client.get(replica.admin + "/metrics")
    if page.status_code == 404:
        raise NotRun("this build has no metrics")
    return page.text


@check("C50", "canaries in key, prompt, tool text, arguments, at debug", "none in log or metrics")
async def canaries() -> str:
    tools = [*CATALOG, tool("canary_tool", "canary-description", city="string")]
    script: list[Scripted] = [
        reply(search("s", "canary-query")),
        reply("canary-reply", call("c", "get_weather", {"city": "canary-argument"})),
        500,
        Raw(b"canary-junk", 200, "application/json"),
    ]
    async with serving(*script, log_level="debug") as replica:
        for sent in (body(tools, text="canary-prompt"), b"canary-body", body(tools, stream=True)):
            await replica.post(sent, authorization="Bearer canary-key")
        await exchange(replica.url, b"GET /canary-path\r\n\r\n")
        pages = [replica.log()]
        for path in ("/metrics", "/ui", "/stats.json"):
            pages.append((await replica.client.get(replica.admin + path)).text)
    hits = sum(page.count("canary-") for page in pages)
    return expect(
        not hits, f"{hits} hits in {len(pages[0].splitlines())} lines and {len(pages) - 1} pages"
    )


@check("C51", "CR, LF and ANSI in model, names, path", "one valid JSON object a line")
async def injection() -> str:
    evil = 'x\r\n{"event":"forged"}\x1b[31m\u2028'
    async with serving(reply("x", call("c", evil, {})), log_level="debug") as replica:
        await replica.post(body([*CATALOG, tool(evil, evil)], model=evil))
        path = b"/v1/%0d%0a%7b%22event%22:%22forged%22%7d%1b"
        await exchange(replica.url, head(b"{}", b"connection: close", path=path))
        await exchange(replica.url, b"\x16\x03\x01 nonsense\r\n\r\n")
        lines = replica.log().split("\n")[:-1]
    wrong = 0
    for line in lines:
        try:
            wrong += json.loads(line).get("event") == "forged"
        except ValueError:
            wrong += 1
    return expect(not wrong, f"{len(lines) - wrong}/{len(lines)} lines")


@check("C52", "promtool, and 2,000 junk models", "no complaint; series do not grow", "prometheus")
async def metrics() -> str:
    async with serving(reply("x")) as replica:
        await replica.post(body())
        before = len((await _metrics(replica)).splitlines())
        program = package("prometheus", "promtool")
        for number in range(2_000):
            sent = body(model=f"junk{number}")
            await replica.post(sent, authorization=f"Bearer {number}")
        text = await _metrics(replica)
        process = await asyncio.create_subprocess_exec(
            *(program, "check", "metrics"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        told, _ = await process.communicate(text.encode())
    grown = len(text.splitlines()) - before
    actual = f"promtool {process.returncode} {told.decode()[:80]}, {grown:+d} lines"
    return expect(process.returncode == 0 and grown < 100, actual)


@check("C53", "a traceparent", "the same trace upstream, with a span of ours as its parent")
async def traces() -> str:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    sent = f"00-{trace}-00f067aa0ba902b7-01"
    async with serving(reply("x")) as replica:
        await replica.post(body(), traceparent=sent)
        [received] = replica.upstream.received[0].header("traceparent")
    if received == sent:
        raise NotRun("this build relays the context and makes no span")
    return expect(trace in received, f"{received}")


@check("C54", "100 folded requests with searches", "header, log and metric say the same, net")
async def savings() -> str:
    async with serving(reply(search("s", "weather")), reply("x")) as replica:
        headers, logged = [], []
        for _ in range(100):
            headers.append((await replica.post(body())).headers["x-toolfold-tokens"])
        for line in replica.log().splitlines():
            entry = json.loads(line)
            if entry.get("event") == "request":
                logged.append("{}/{}".format(*entry["tokens"]))
        text = await _metrics(replica)
    has = (
        "toolfold_search_round_tokens_total" in text and "toolfold_tool_tokens_after_total" in text
    )
    return expect(headers == logged and has, f"header = log {headers == logged}, metrics {has}")
