"""Histories as clients write them, and what servers take of the messages that are ours."""

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from app.core.body import Body
from app.core.codec import Json
from tests.builders import (
    CATALOG,
    FILLER,
    body,
    call,
    dumps,
    numbered,
    reply,
    request,
    search,
    tool,
)
from tests.conftest import Proxy, start_proxy
from tests.player import Records, play

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
STRATEGIES = pytest.mark.parametrize("strategy", ["promote", "wrap"])
OSLO = {"city": "Oslo"}
ASKED: Json = {"role": "user", "content": "q"}


def answers(proxy: Proxy, at: int = -1) -> list[Json]:
    return [m for m in proxy.upstream.requests[at]["messages"] if m["role"] == "tool"]


def made(identifier: str, strategy: str, arguments: Any = OSLO) -> Json:
    """A call of `get_weather` as a model makes it."""
    if strategy == "promote":
        return call(identifier, "get_weather", arguments)
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return call(identifier, "call_tool", f'{{"name":"get_weather","arguments":{text}}}')


def calling(*calls: Json, content: Any = None, **beside: Any) -> list[Json]:
    """A message that calls, and its results."""
    results = [{"role": "tool", "tool_call_id": c.get("id"), "content": "ok"} for c in calls]
    asked = {"role": "assistant", "content": content, **beside, "tool_calls": list(calls)}
    return [asked, *results]


def sent(history: list[Json], strategy: str, records: Records | None = None, **more: Any) -> Any:
    """The messages that the upstream gets for this history."""
    policy = {"strategy": strategy, **more.pop("policy", {})}
    messages = [ASKED, *history]
    played = play(reply("ok"), messages=messages, policy=policy, records=records, **more)
    return played.requests[0]["messages"]


@FRAMINGS
@STRATEGIES
async def test_Q057_a_search_result_is_one_text(stream: bool, strategy: str) -> None:
    async with start_proxy(reply(search("s1", "weather")), reply("x"), strategy=strategy) as proxy:
        await proxy.post(body(stream=stream))

    (answer,) = answers(proxy)
    assert answer.keys() == {"role", "tool_call_id", "content"}
    assert "get_weather" in json.loads(answer["content"])["tools"][0]["name"]


@FRAMINGS
@STRATEGIES
async def test_Q057_the_clients_results_keep_their_bytes(stream: bool, strategy: str) -> None:
    parts = b'{ "role":"tool","tool_call_id":"c1" ,"content":[{"type":"text","text":"\\u00e9"}]}'
    first = dumps(calling(call("c1", "get_weather", OSLO))[0])
    messages = b"[" + dumps(ASKED) + b"," + first + b", " + parts + b"]"
    async with start_proxy(reply("ok"), strategy=strategy) as proxy:
        await proxy.post(Body(body(stream=stream)).splice({"messages": messages}))

    assert parts in proxy.upstream.received[0].body


SYSTEMS: dict[str, list[Json]] = {
    "none": [],
    "text": [{"role": "system", "content": "Be brief."}],
    "parts": [{"role": "system", "content": [{"type": "text", "text": "Be brief."}]}],
    "developer": [{"role": "developer", "content": "Be brief."}],
    "two": [{"role": "system", "content": "Be"}, {"role": "system", "content": "brief."}],
    "late": [ASKED, {"role": "system", "content": "Be brief."}],
}


@FRAMINGS
@pytest.mark.parametrize("place", ["auto", "system"])
@pytest.mark.parametrize("first", SYSTEMS.values(), ids=SYSTEMS)
async def test_Q058_Q059_no_instruction_is_added_and_no_role_changed(
    stream: bool, place: str, first: list[Json]
) -> None:
    """DESIGN §4: the manifest stands in the tool, or, where the policy says so, at the end of
    the client's first message if that is an instruction. An upstream that takes one system
    message is told by no setting yet: a client that sends two is its own affair."""
    asked = request(numbered(60), stream=stream, messages=[*first, ASKED])
    async with start_proxy(reply("ok"), manifest_place=place) as proxy:
        await proxy.post(dumps(asked))

    (got,) = proxy.upstream.requests
    assert [m["role"] for m in got["messages"]] == [m["role"] for m in asked["messages"]]
    in_system = place == "system" and bool(first) and first[0]["role"] != "user"
    text = json.dumps(got["messages"][0])
    assert ("t42" in text) is in_system
    assert ("t42" in json.dumps(got["tools"])) is not in_system
    assert text.startswith(json.dumps(asked["messages"][0])[:-3].rstrip('"}]'))
    assert got["messages"][1:] == asked["messages"][1:]


EMPTY = {"empty": "", "null": None, "absent": ...}


@FRAMINGS
@pytest.mark.parametrize("arguments", EMPTY.values(), ids=EMPTY)
async def test_Q061_a_search_without_arguments_is_answered(stream: bool, arguments: Any) -> None:
    """In the echo they are an object, since a server parses them."""
    asked = search("s1", "x")
    asked["function"] = {"name": "tool_search"}
    if arguments is not ...:
        asked["function"]["arguments"] = arguments
    said = reply(asked)
    if stream:
        asked["function"]["arguments"] = arguments if isinstance(arguments, str) else ""
    async with start_proxy(said, reply("Done.")) as proxy:
        response = await proxy.post(body(stream=stream))

    (echoed,) = [m for m in proxy.upstream.requests[1]["messages"] if m.get("tool_calls")]
    assert response.status_code == 200
    assert echoed["tool_calls"][0]["function"]["arguments"] == "{}"
    assert "crm" in answers(proxy)[0]["content"]


@FRAMINGS
@pytest.mark.parametrize("direct", [("ping",), ()], ids=["declared", "deferred"])
async def test_Q061_a_clients_call_without_arguments_is_passed_on(
    stream: bool, direct: tuple[str, ...]
) -> None:
    tools = [tool("ping", "x" * 90), *CATALOG]
    async with start_proxy(reply(call("c1", "ping", "")), direct=direct) as proxy:
        response = await proxy.post(body(tools, stream=stream))

    assert len(proxy.upstream.received) == 1
    assert b'"arguments": ""' in response.content


TWICE = json.dumps(json.dumps({"query": "weather"}))


@FRAMINGS
@pytest.mark.parametrize("times", [1, 2], ids=["twice", "three times"])
async def test_Q062_a_search_encoded_again_is_read(stream: bool, times: int) -> None:
    arguments = TWICE if times == 1 else json.dumps(TWICE)
    script = [reply(call("s1", "tool_search", arguments)), reply("Done.")]
    async with start_proxy(*script) as proxy:
        await proxy.post(body(stream=stream))

    names = [one["name"] for one in json.loads(answers(proxy)[0]["content"])["tools"]]
    assert names == ["get_weather"]


@FRAMINGS
async def test_Q062_a_clients_arguments_are_opaque(stream: bool) -> None:
    text = json.dumps(json.dumps(OSLO))
    script = reply(call("c1", "get_weather", text))
    async with start_proxy(script, direct=("get_weather",)) as proxy:
        response = await proxy.post(body(stream=stream))
        history = calling(call("c1", "get_weather", text))
        await proxy.post(dumps(request(messages=[ASKED, *history])))

    assert heard(response) == text
    assert proxy.upstream.requests[1]["messages"][1:] == history


def heard(response: httpx2.Response) -> str:
    """The arguments that the client puts together."""
    if "event-stream" not in response.headers["content-type"]:
        (one,) = response.json()["choices"][0]["message"]["tool_calls"]
        return str(one["function"]["arguments"])
    lines = [line for line in response.text.split("\n") if line.startswith("data: {")]
    deltas = [c["delta"] for line in lines for c in json.loads(line[6:])["choices"]]
    fragments = [f for delta in deltas for f in delta.get("tool_calls", [])]
    return "".join(f["function"].get("arguments", "") for f in fragments)


NUMBERS = (
    b'{"model":"m","temperature":1e0,"seed":2512292042121000001,"x":1E400,"messages":'
    b'[{"role":"user","content":"q","at":1.10}],"tools":%b}'
)
EXACT = (
    b'{"type":"function","function":{"name":"t00","parameters":{"type":"object","properties":'
    b'{"id":{"type":"integer","maximum":9223372036854775807,"multipleOf":1.0e0}}}}}'
)


@FRAMINGS
@STRATEGIES
async def test_Q064_numbers_keep_their_bytes(stream: bool, strategy: str) -> None:
    """The tool too, once it is found."""
    tools = dumps(FILLER)[:-1] + b"," + EXACT + b"]"
    raw = NUMBERS % tools
    raw = raw[:-1] + b',"stream":true}' if stream else raw
    script = [reply(search("s1", "select:t00")), reply("Done.")]
    async with start_proxy(*script, strategy=strategy, deferred=("t00",)) as proxy:
        await proxy.post(raw)

    first, second = (received.body for received in proxy.upstream.received)
    kept = raw[: raw.index(b'}],"tools"')]
    assert first.startswith(kept)
    assert second.startswith(kept)
    assert b"Infinity" not in first + second
    maximum = b"9223372036854775807"
    assert (EXACT in second) if strategy == "promote" else (maximum in second)


@FRAMINGS
@STRATEGIES
async def test_Q064_arguments_are_never_written_anew(stream: bool, strategy: str) -> None:
    text = '{ "city":"Oslo" , "id":2512292042121000001, "x":1E400, "y":1.10 }'
    said = made("c1", strategy, text)
    async with start_proxy(reply(said), strategy=strategy) as proxy:
        told = heard(await proxy.post(body(stream=stream)))
        history = calling(call("c1", "get_weather", told))
        await proxy.post(dumps(request(messages=[ASKED, *history])))

    assert told == text
    last = [m for m in proxy.upstream.requests[-1]["messages"] if m.get("tool_calls")][-1]
    assert last["tool_calls"] == [said]


NOT_JSON = {"NaN": '{"city":"x","units":NaN}', "cut off": '{"city":"x"', "words": "Oslo"}


@STRATEGIES
@pytest.mark.parametrize("text", NOT_JSON.values(), ids=NOT_JSON)
def test_arguments_that_are_not_json_are_carried_in_the_history(strategy: str, text: str) -> None:
    last = sent(calling(call("c1", "get_weather", text)), strategy)[-2]
    carried = last["tool_calls"][0]["function"]["arguments"]
    assert (carried if strategy == "promote" else json.loads(carried)["arguments"]) == text


def test_arguments_that_are_an_object_are_carried_as_one() -> None:
    """Some clients keep them parsed; what is written anew is JSON all the same."""
    one = call("c1", "get_weather")
    one["function"]["arguments"] = OSLO
    last = sent(calling(one), "wrap")[-2]
    carried = json.loads(last["tool_calls"][0]["function"]["arguments"])
    assert carried == {"name": "get_weather", "arguments": OSLO}


Edit = Callable[[list[Json]], Any]
EDITS: dict[str, Edit] = {
    "results the other way round": lambda m: m.append(m.pop(1)),
    "a result is missing": lambda m: m.pop(),
    "a call is missing": lambda m: (m[0]["tool_calls"].pop(), m.pop()),
    "the first call is missing": lambda m: (m[0]["tool_calls"].pop(0), m.pop(1)),
    "calls the other way round": lambda m: m[0]["tool_calls"].reverse(),
    "content in parts": lambda m: m[0].update(content=[{"type": "text", "text": "Look. "}]),
    "content left out": lambda m: m[0].pop("content"),
    "empty parts": lambda m: m[0].update(content=[]),
    "a name": lambda m: m[0].update(name="bot"),
    "a refusal": lambda m: m[0].update(refusal=None, annotations=[], audio=None),
    "no ids": lambda m: (
        [c.pop("id") for c in m[0]["tool_calls"]],
        [r.pop("tool_call_id") for r in m[1:]],
    ),
    "an index": lambda m: [c.update(index=at) for at, c in enumerate(m[0]["tool_calls"])],
}


@STRATEGIES
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_nothing_of_an_edited_mixed_round_is_lost(strategy: str, edit: Edit) -> None:
    records: Records = {}
    deal = ("crm__read_deal", {"id": "1"})
    script = reply("Look. ", made("c1", "promote"), search("s1", "refund"), call("c2", *deal))
    play(script, messages=[ASKED], records=records, policy={"strategy": strategy})
    history = calling(call("c1", "get_weather", OSLO), call("c2", *deal), content="Look. ")
    edit(history)
    got = sent(history, strategy, records)

    theirs = [m for m in got if m.get("tool_calls")][-1]
    ids = [c.get("id") for c in history[0]["tool_calls"]]
    assert sorted(map(str, ids)) == sorted(
        str(c.get("id")) for c in theirs["tool_calls"] if c.get("id") != "s1"
    )
    assert [m for m in got if m["role"] == "tool"][-len(history[1:]) :] == history[1:]
    assert {k: v for k, v in theirs.items() if k != "tool_calls"} == {
        k: v for k, v in history[0].items() if k != "tool_calls"
    }
