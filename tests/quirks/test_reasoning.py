"""What a model thought and signed comes back to it.

What some upstreams require others refuse, so one rule cannot serve both: what is learned
from a refusal stands in `test_learning`.
"""

import json
from typing import Any

import httpx2
import pytest

from app.core.chunks import as_completion, fold
from app.core.codec import Json
from tests.builders import body, call, dumps, events, reply, request, search
from tests.conftest import Proxy, start_proxy
from tests.upstream import Raw, Scripted

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
STRATEGIES = pytest.mark.parametrize("strategy", ["promote", "wrap"])
SIGNED: Json = {"extra_content": {"google": {"thought_signature": "AbC="}}}
OSLO = {"city": "Oslo"}


def made(identifier: str, strategy: str, arguments: Json = OSLO, **extra: Any) -> Json:
    """A call of `get_weather` as a model makes it."""
    if strategy == "wrap":
        inner = {"name": "get_weather", "arguments": arguments}
        return call(identifier, "call_tool", inner, **extra)
    return call(identifier, "get_weather", arguments, **extra)


def message(response: httpx2.Response) -> Json:
    """What a client keeps of a reply, members that it does not know too."""
    assert response.status_code == 200
    whole = response.json() if "event-stream" not in response.headers["content-type"] else None
    lines = [line for line in response.text.split("\n") if line.startswith("data: {")]
    whole = whole or as_completion(fold(json.loads(line[6:]) for line in lines))
    return dict(whole["choices"][0]["message"])


def said(proxy: Proxy, at: int = -1) -> list[Json]:
    """The assistant messages of a round that call tools."""
    return [m for m in proxy.upstream.requests[at]["messages"] if m.get("tool_calls")]


async def next_request(proxy: Proxy, told: Json, stream: bool) -> None:
    """The client's own next turn: what it was told, and its results."""
    results = [
        {"role": "tool", "tool_call_id": made["id"], "content": "ok"} for made in told["tool_calls"]
    ]
    asked = request(stream=stream)
    await proxy.post(dumps({**asked, "messages": [*asked["messages"], told, *results]}))


def in_events(*deltas: Json) -> Raw:
    """A stream with these deltas."""
    frame = {"id": "u1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    last = len(deltas) - 1
    return Raw(
        events(
            *(
                {**frame, "choices": [{"index": 0, "delta": d, "finish_reason": end}]}
                for at, d in enumerate(deltas)
                for end in ["tool_calls" if at == last else None]
            )
        )
    )


@FRAMINGS
@STRATEGIES
async def test_Q028_reasoning_comes_back_with_the_search(stream: bool, strategy: str) -> None:
    plan = "plan A, then some more"
    first = reply(search("s1", "weather"), reasoning_content=plan)
    second = reply(made("c1", strategy), reasoning_content="plan B")
    async with start_proxy(first, second, strategy=strategy) as proxy:
        told = message(await proxy.post(body(stream=stream)))
        assert [one["reasoning_content"] for one in said(proxy)] == [plan]
        await next_request(proxy, told, stream)

    assert told["reasoning_content"].endswith("plan B")
    searched, called = said(proxy)
    assert searched["reasoning_content"] == plan
    assert called["reasoning_content"] == told["reasoning_content"]


@FRAMINGS
@STRATEGIES
async def test_Q028_reasoning_is_there_in_every_message_that_calls(
    stream: bool, strategy: str
) -> None:
    """Wrong arguments and names that mean none are hidden rounds too."""
    script: list[Scripted] = [
        reply(made("c0", strategy, {"town": "Oslo"}), reasoning_content="one"),
        reply(call("x1", "send_fax"), reasoning_content="two"),
        reply(search("s1", "refund"), made("c1", strategy), reasoning_content="three"),
        reply("Done."),
    ]
    async with start_proxy(*script, strategy=strategy) as proxy:
        told = message(await proxy.post(body(stream=stream)))
        await next_request(proxy, told, stream)

    assert len(proxy.upstream.requests) == 4
    for sent in range(4):
        assert all(one.get("reasoning_content") for one in said(proxy, sent))
    assert [made["id"] for made in said(proxy)[-1]["tool_calls"]] == ["s1", "c1"]


@FRAMINGS
async def test_Q028_reasoning_in_parts_is_put_together(stream: bool) -> None:
    parts = [
        {"type": "reasoning.text", "text": "plan A", "index": 0},
        {"type": "reasoning.encrypted", "data": "eA==", "index": 1},
    ]
    first: Scripted = reply(search("s1", "weather"), reasoning_details=parts)
    if stream:
        piece = {"type": "reasoning.text", "text": "plan", "index": 0}
        rest = {"type": "reasoning.text", "text": " A", "index": 0}
        calls = [{"index": 0, **search("s1", "weather")}]
        first = in_events(
            {"role": "assistant", "content": "", "reasoning_details": [piece]},
            {"reasoning_details": [rest]},
            {"reasoning_details": parts[1:]},
            {"tool_calls": calls},
        )
    async with start_proxy(first, reply("Done.")) as proxy:
        await proxy.post(body(stream=stream))

    assert said(proxy)[0]["reasoning_details"] == parts


WHERE = ["with the name", "alone, last", "alone, first"]


@pytest.mark.parametrize("where", WHERE)
async def test_Q029_a_signature_is_found_in_whichever_delta_holds_it(where: str) -> None:
    one = {"index": 0, **search("s1", "weather")}
    deltas: dict[str, list[Json]] = {
        "with the name": [{"role": "assistant", "tool_calls": [{**one, **SIGNED}]}],
        "alone, last": [{"tool_calls": [one]}, {"tool_calls": [{"index": 0, **SIGNED}]}],
        "alone, first": [
            {"tool_calls": [{"index": 0, "id": "s1", "type": "function", **SIGNED}]},
            {"tool_calls": [{"index": 0, "function": one["function"]}]},
        ],
    }
    async with start_proxy(in_events(*deltas[where]), reply("Done.")) as proxy:
        await proxy.post(body(stream=True))

    assert said(proxy)[0]["tool_calls"] == [search("s1", "weather") | SIGNED]


@FRAMINGS
@STRATEGIES
async def test_Q029_signatures_are_kept_on_both_sides(stream: bool, strategy: str) -> None:
    first = reply({**search("s1", "weather"), **SIGNED, "vendor": 1}, vendor_says={"a": [1]})
    second = reply(made("c1", strategy, **SIGNED))
    async with start_proxy(first, second, strategy=strategy) as proxy:
        told = message(await proxy.post(body(stream=stream)))
        (echoed,) = said(proxy)
        await next_request(proxy, told, stream)

    assert echoed["tool_calls"] == [search("s1", "weather") | SIGNED | {"vendor": 1}]
    assert stream or echoed["vendor_says"] == {"a": [1]}
    (visible,) = told["tool_calls"]
    assert visible == call("c1", "get_weather", visible["function"]["arguments"]) | SIGNED
    assert json.loads(visible["function"]["arguments"]) == OSLO
    signed = [one["tool_calls"][0]["extra_content"] for one in said(proxy)]
    assert signed == [SIGNED["extra_content"]] * 2


@FRAMINGS
@STRATEGIES
@pytest.mark.parametrize("store", ["memory", "none"])
async def test_Q030_the_first_call_of_every_message_is_signed(
    stream: bool, strategy: str, store: str
) -> None:
    """DESIGN: the mixed round is remembered and put back, its signature goes with the first
    call that the client sees; the report would resolve it upstream."""
    mixed = reply({**search("s1", "refund"), **SIGNED}, made("c1", strategy))
    async with start_proxy(mixed, reply("Done."), strategy=strategy, store=store) as proxy:
        told = message(await proxy.post(body(stream=stream)))
        await next_request(proxy, told, stream)

    assert [one["id"] for one in told["tool_calls"]] == ["c1"]
    assert told["tool_calls"][0]["extra_content"] == SIGNED["extra_content"]
    assert all("extra_content" in one["tool_calls"][0] for one in said(proxy))
    ids = [one["id"] for one in said(proxy)[-1]["tool_calls"]]
    assert ids == (["s1", "c1"] if store == "memory" else ["c1"])


@FRAMINGS
async def test_Q033_what_is_empty_is_not_echoed(stream: bool) -> None:
    """`reasoning` is, since others require it; where it is refused: test_learning."""
    empty: Json = {"content": None, "refusal": None, "annotations": [], "audio": None}
    empty |= {"reasoning": "r", "function_call": None, "reasoning_content": ""}
    first: Scripted = reply(search("s1", "weather"), **empty)
    if stream:
        calls = [{"index": 0, **search("s1", "weather")}]
        first = in_events({"role": "assistant", **empty}, {"tool_calls": calls})
    async with start_proxy(first, reply("Done.")) as proxy:
        response = await proxy.post(body(stream=stream))

    (echoed,) = said(proxy, 1)
    assert response.status_code == 200
    assert echoed.keys() == {"role", "content", "reasoning", "tool_calls"}
    assert (echoed["content"], echoed["reasoning"]) == ("", "r")


@FRAMINGS
@STRATEGIES
async def test_Q033_a_strict_upstream_takes_what_a_plain_model_said(
    stream: bool, strategy: str
) -> None:
    script = [reply("Let me look. ", search("s1", "weather")), reply(made("c1", strategy))]
    async with start_proxy(*script, strategy=strategy) as proxy:
        told = message(await proxy.post(body(stream=stream)))
        kept = {k: v for k, v in told.items() if k in ("role", "content", "tool_calls")}
        await next_request(proxy, kept, stream)

    plain = {"role", "content", "tool_calls", "name"}
    assert len(said(proxy)) == 2
    assert all(one.keys() <= plain for sent in range(3) for one in said(proxy, sent))
