"""What is told: C50 to C54."""

import asyncio
import json

from bench.ops.check import check, expect
from bench.ops.rig import (
    Raw,
    Replica,
    body,
    exchange,
    head,
    package,
    reply,
    search,
    serving,
    tool,
    upstream,
)
from tests.builders import CATALOG, call
from tests.upstream import Scripted


async def _metrics(replica: Replica) -> str:
    return (await replica.client.get(replica.admin + "/metrics")).text


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


@check("C52", "promtool, and 5,000 junk models", "no complaint; bounded series", "prometheus")
async def metrics() -> str:
    most = 10
    async with serving(reply("x"), metrics_models=most) as replica:
        program = package("prometheus", "promtool")
        sizes = []
        for numbers in (range(most), range(most, 5_000)):
            for number in numbers:
                sent = body(model=f"junk{number}")
                await replica.post(sent, authorization=f"Bearer {number}")
            sizes.append(len((await _metrics(replica)).splitlines()))
        text = await _metrics(replica)
        process = await asyncio.create_subprocess_exec(
            *(program, "check", "metrics"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        told, _ = await process.communicate(text.encode())
    grown = sizes[1] - sizes[0]  # by the series of `other`
    actual = f"promtool {process.returncode} {told.decode()[:80]}, {grown:+d} lines"
    is_clean = process.returncode == 0 and not told
    return expect(is_clean and grown < 100 and 'model="other"' in text, actual)


@check("C53", "a traceparent", "the same trace upstream, with a span of ours as its parent")
async def traces() -> str:
    trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    sent = f"00-{trace}-{parent}-01"
    collector_reply = Raw(content_type="application/x-protobuf")
    async with upstream(collector_reply) as collector:
        async with serving(reply("x"), drain_delay=0, otlp_endpoint=collector.url) as replica:
            await replica.post(body(text="canary-prompt"), traceparent=sent)
            await replica.leave(60)
            [received] = replica.upstream.received[0].header("traceparent")
        spans = b"".join(one.body for one in collector.received)
    _, continued, span, flags = received.split("-")
    exported = bytes.fromhex(span) in spans and bytes.fromhex(parent) in spans
    named = b"gen_ai.request.model" in spans and b"chat m" in spans
    actual = f"trace {continued == trace}, own span {span != parent}, exported {exported and named}"
    fine = continued == trace and span != parent and flags == "01" and exported and named
    return expect(fine and b"canary" not in spans, actual)


@check("C54", "1,000 folded requests with searches", "header, log and metric say the same, net")
async def savings() -> str:
    searches = reply(search("s", "weather"))
    unknown = {**reply("x"), "usage": None}
    script = [one for _ in range(499) for one in (searches, reply("x"))]
    async with serving(*script, searches, unknown, *script, reply("x")) as replica:
        headers, logged, silent = [], [], 0
        for _ in range(1_000):
            told = (await replica.post(body())).headers
            silent += "x-toolfold-saved" not in told
            headers.append((told["x-toolfold-tokens"], told.get("x-toolfold-saved")))
        for line in replica.log().splitlines():
            entry = json.loads(line)
            if entry["event"] == "request":
                saved = None if entry["saved"] is None else str(entry["saved"])
                logged.append(("{}/{}".format(*entry["tokens"]), saved))
        text = await _metrics(replica)
    names = ("tool_tokens_offered", "tool_tokens_sent", "search_round_tokens")
    offered, sent, searching = (_total(text, f"toolfold_{name}_total") for name in names)
    net = offered - sent - searching
    said = sum(int(saved) for _, saved in headers if saved is not None)
    actual = f"header = log {headers == logged}, {said:,} = {net:,.0f}, {silent} unknown"
    return expect(headers == logged and said == net and silent == 1 and searching, actual)


def _total(text: str, name: str) -> float:
    lines = (line for line in text.splitlines() if line.startswith(name + "{"))
    return sum(float(line.rpartition(" ")[2]) for line in lines)
