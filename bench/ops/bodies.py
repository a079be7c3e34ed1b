"""JSON in: C15 to C20."""

import asyncio
import json
import random
from hashlib import sha256

from app.core.body import Body
from bench.ops.check import check, expect
from bench.ops.rig import (
    JSON,
    MEGABYTE,
    Clock,
    Raw,
    Replica,
    body,
    health,
    reply,
    search,
    serving,
    tool,
)
from tests.builders import CATALOG, dumps, request
from tests.test_bad_input import RELAYED, UNDERSTOOD, blanked
from tests.upstream import Scripted

_SEED = 7


@check("C15", "hostile bodies: encodings, numbers, depth, sizes", "400 with param, or unaltered")
async def hostile() -> str:
    cases = {**{name: sent for name, (sent, _) in RELAYED.items()}, **UNDERSTOOD}
    wrong = []
    async with serving(Raw(dumps(reply("x")), 200, JSON)) as replica:
        for name, sent in cases.items():
            before = len(replica.upstream.received)
            response = await replica.post(sent)
            heard = replica.upstream.received[before:]
            if response.status_code == 400 and not heard:
                fine = bool(response.json()["error"]["param"])
            elif response.headers["x-toolfold-decision"] == "relayed":
                fine = [one.body for one in heard] == [sent]
            else:
                fine = blanked(heard[0].body) == blanked(sent)
            wrong += [] if fine and response.status_code < 500 else [name]
        alive = replica.process.returncode is None
    return expect(
        not wrong and alive, f"{len(cases) - len(wrong)}/{len(cases)} {wrong or ''}".strip()
    )


@check("C16", "1,000 random bodies, relayed", "each byte for byte")
async def passthrough() -> str:
    source = random.Random(_SEED)
    bodies = [source.randbytes(source.randrange(1, 20_000)) for _ in range(500)]
    bodies += [body(text=source.randbytes(200).hex(), seed=source.random()) for _ in range(500)]
    async with serving(Raw(b"{}", 200, JSON), mode="off") as replica:
        for sent in bodies:
            await replica.post(sent)
        came = [sha256(one.body).digest() for one in replica.upstream.received]
    equal = sum(a == sha256(b).digest() for a, b in zip(came, bodies, strict=True))
    return expect(equal == len(bodies), f"{equal}/{len(bodies)} equal")


_ODD = b',"zebra":1,"apple":1180591620717411303424,"a":1.10,"b":1e2,"c":"\\u00e9","d":"\xc3\xa9"'


@check("C17", "a rewritten body: numbers, order, escapes, a definition", "the rest unaltered")
async def rewritten() -> str:
    odd = dumps(tool("odd_one")).replace(b'"properties": {}', b'"properties":{},"x":1.10,"y":2e2')
    tools = dumps(CATALOG)[:-1] + b"," + odd + b"]"
    sent = b'{"model":"m"' + _ODD + b',"messages":[{"role":"user","content":"\\u00e9"}],"tools":'
    sent += tools + b' ,"last" : 1.0 }'
    async with serving(reply(search("s", "odd one")), reply("x")) as replica:
        await replica.post(sent)
        rounds = replica.upstream.received
    same = all(blanked(one.body) == blanked(sent) for one in rounds)
    handed = odd in rounds[-1].body
    return expect(same and handed, f"rest equal {same}, the definition's bytes {handed}")


@check("C18", "one conversation twice, and a turn longer", "the same bytes of tools and system")
async def prefix() -> str:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    longer = [*messages, {"role": "assistant", "content": "x"}, {"role": "user", "content": "?"}]
    async with serving(reply("x")) as replica:
        for said in (messages, messages, longer):
            await replica.post(body(messages=said))
        sent = [Body(one.body) for one in replica.upstream.received]
    tools = {one.get("tools") for one in sent}
    begins = [one.get("messages") or b"" for one in sent]
    kept = begins[0] == begins[1] and begins[2].startswith(begins[0][:-1])
    return expect(len(tools) == 1 and kept, f"{len(tools)} arrays of tools, messages kept {kept}")


def _large(seed: int) -> bytes:
    words = ["create", "read", "update", "archive", "merge", "export", "list", "find"]
    tools = [
        tool(
            f"app{n % 40}__{words[n % 8]}_thing_{n}_{seed}",
            "Does it. " * 230,
            id="string",
            at="string?",
        )
        for n in range(2_000)
    ]
    return dumps(request(tools))


async def _stall(replica: Replica, content: bytes) -> float:
    stop = asyncio.Event()
    asking = asyncio.create_task(health(replica, stop))
    await asyncio.sleep(0.1)
    await replica.post(content)
    stop.set()
    return await asking * 1000


@check("C19", "5 MB with 2,000 tools while life is asked for", "worst <=100 ms cold, <=30 ms known")
async def stall() -> str:
    contents = [_large(seed) for seed in range(3)]
    async with serving(reply("x")) as replica:
        await replica.post(body())
        idle = await _stall(replica, body())
        # What else runs on the machine stalls as well: a stall of ours is in every run.
        cold = min([await _stall(replica, content) for content in contents])
        known = min([await _stall(replica, contents[-1]) for _ in range(3)])
    size = len(contents[0]) / MEGABYTE
    actual = f"{size:.1f} MB: cold {cold:.0f} ms, known {known:.0f} ms (small body {idle:.0f} ms)"
    return expect(cold <= 100 and known <= 30, actual)


@check("C20", "5 MB of {{{ in a query and in a refusal", "each <50 ms more than as much of a")
async def linear() -> str:
    cost = {}
    for letter in "a{":
        text = letter * 5 * MEGABYTE
        error = Raw(json.dumps({"error": {"message": text}}).encode(), 400, JSON)
        script: list[Scripted] = [reply(search("s", text)), reply("x"), error]
        async with serving(reply("x"), *script * 3) as replica:
            await replica.post(body())
            asked: list[float] = []
            refused: list[float] = []
            for _ in range(3):
                for took in (asked, refused):
                    clock = Clock()
                    await replica.post(body())
                    took.append(clock.seconds * 1000)
            cost[letter] = (min(asked), min(refused))
    more = [b - a for a, b in zip(cost["a"], cost["{"], strict=True)]
    actual = f"query {more[0]:+.0f} ms of {cost['{'][0]:.0f}, refusal {more[1]:+.0f} ms"
    return expect(max(more) < 50, actual)
