"""What is relayed keeps every byte, and what is folded every byte that folding has no need to
touch: numbers, escapes, the order of members, blanks."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.body import Body
from app.core.exchange import shown
from app.core.fold import Fold
from app.core.policy import Policy
from tests.builders import CATALOG, dumps, reply, request, search
from tests.conftest import start_proxy
from tests.player import planned
from tests.test_bad_input import MESSAGES, TOOLS, blanked, raw
from tests.upstream import Raw

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=15,
)
names = st.sampled_from(["tools", "messages", "tool_choice", "stream", "n", "model", "x"])
requests = st.dictionaries(names, values) | values


@settings(deadline=None, max_examples=20)
@given(requests, st.sampled_from([None, 1]))
async def test_any_json_is_relayed_in_its_own_bytes(value: Any, indent: int | None) -> None:
    sent = json.dumps(value, indent=indent).encode()
    async with start_proxy(Raw(b"{}", content_type="application/json")) as proxy:
        response = await proxy.post(sent)

    assert [received.body for received in proxy.upstream.received] == [sent]
    assert response.status_code == 200
    assert response.headers["x-toolfold-reason"] != "internal-error"


blanks = st.text(" \t\r\n", max_size=3)
texts = st.sampled_from(
    [
        *("1180591620717411303424", "1.10", "1e2", "1E+2", "-0", "-0.0", "0.1e-7", "1e400"),
        *('"\\u00e9"', '"é"', '"\\/"', '"\\ud83d\\ude00"', '"}"', '"{\\"tools\\":[]}"'),
        *("[ ]", "{ }", '{"zebra":1, "apple" : 2}', "[1.0,\n2]", "null", "true", "9" * 400),
    ]
)
keys = st.sampled_from(["zebra", "apple", "\\u00e9", "seed", "tool", "", "}", "a,b", "to\\u006f"])


@st.composite
def odd_bodies(draw: st.DrawFn) -> bytes:
    """A request with tools, its members in any order, with any blanks."""
    others = draw(st.dictionaries(keys, texts, max_size=6))
    found = {**others, "tools": TOOLS.decode(), "messages": MESSAGES.decode()}
    between = st.tuples(blanks, blanks, blanks, blanks)
    said = []
    for key in draw(st.permutations(sorted(found))):
        a, b, c, d = draw(between)
        said.append(f'{a}"{key}"{b}:{c}{found[key]}{d}')
    return f"{draw(blanks)}{{{','.join(said)}}}{draw(blanks)}".encode()


FOLDING = Policy(mode="on")


@settings(deadline=None, max_examples=300)
@given(odd_bodies())
def test_folding_changes_no_other_byte(sent: bytes) -> None:
    folded = planned(sent, FOLDING)

    assert isinstance(folded, Fold)
    rewritten = folded.request(["get_weather"], [shown(["get_weather"], b"seed")])
    assert blanked(rewritten) == blanked(sent)
    assert MESSAGES[:-1] in rewritten


ODD_MEMBERS = (
    b',"zebra" : 1180591620717411303424,"apple":[1.10, 1e2,-0.0 ],\n"\\u00e9":"\\u00e9\xc3\xa9"'
)


async def test_every_round_keeps_the_other_members_in_their_bytes() -> None:
    async with start_proxy(reply(search("s1", "weather")), reply("Done.")) as proxy:
        await proxy.post(raw(rest=ODD_MEMBERS))

    first, second = (received.body for received in proxy.upstream.received)
    assert first.endswith(ODD_MEMBERS + b"}")
    assert second.endswith(ODD_MEMBERS + b"}")
    assert second.count(MESSAGES[:-1] + b",") == 1


async def test_a_tool_goes_upstream_in_the_bytes_that_came() -> None:
    odd = TOOLS.replace(b'"string"', b'"string" , "x" : [1.10, 1e2 , "\\u00e9\xc3\xa9", -0]')
    entries = json.loads(odd)
    start = odd.index(b'{"type": "function", "function": {"name": "get_weather"')
    weather = odd[start : odd.index(b', {"type": "function"', start)]
    async with start_proxy(reply(search("s1", "select:get_weather")), reply("Done.")) as proxy:
        await proxy.post(raw(odd))

    assert proxy.upstream.requests[1]["tools"][1] == entries[0]
    assert weather in proxy.upstream.received[1].body


async def test_the_same_conversation_has_the_same_beginning() -> None:
    """A prompt cache keeps its prefix: what is declared and listed depends on nothing else."""
    asked = request(CATALOG)
    later = {**asked, "messages": asked["messages"] + [{"role": "user", "content": "More"}]}
    async with start_proxy(reply("x")) as proxy:
        for one in (asked, asked, later):
            await proxy.post(dumps(one))

    first, again, then = (received.body for received in proxy.upstream.received)
    assert first == again
    assert Body(first).get("tools") == Body(then).get("tools")
    assert then.startswith(first[: first.index(b"Hello")])
