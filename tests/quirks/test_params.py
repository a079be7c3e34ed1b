"""`tools`, `tool_choice` and what stands beside them."""

from typing import Any

import pytest

from tests.builders import body, call, dumps, numbered, reply, request, search
from tests.conftest import start_proxy
from tests.quirks.rules import (
    choice_of_a_tool,
    never_none,
    refusal,
    ruled,
    tools_with_calls,
)
from tests.quirks.seen import seen
from tests.upstream import Raw

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
STRATEGIES = pytest.mark.parametrize("strategy", ["promote", "wrap"])
SIXTY = numbered(60)


def named(name: str) -> Any:
    return {"type": "function", "function": {"name": name}}


def allowed(*names: str, mode: str = "auto") -> Any:
    tools = [named(name) for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}


@FRAMINGS
@STRATEGIES
@pytest.mark.parametrize("choice", [None, "auto", "required"])
async def test_Q044_history_that_calls_always_has_tools(
    choice: str | None, strategy: str, stream: bool
) -> None:
    """The model searches for ever and finds nothing, so that nothing is promoted."""
    script = [reply(search(f"s{n}", f"qq{n}")) for n in range(3)]
    members = {} if choice is None else {"tool_choice": choice}
    ruled_ = ruled(tools_with_calls, *script, reply("Sorry."))
    async with start_proxy(ruled_, max_searches=2, strategy=strategy) as proxy:
        response = await proxy.post(body(SIXTY, stream=stream, **members))

    assert (response.status_code, seen(response).text) == (200, "Sorry.")
    assert all(one["tools"] for one in proxy.upstream.requests)
    expected = "none" if choice != "required" else "required"
    assert proxy.upstream.requests[-1]["tool_choice"] == expected


@FRAMINGS
async def test_Q044_where_the_choice_none_is_refused_another_way_is_found(stream: bool) -> None:
    """A tool that was found stays declared, the search goes."""
    script = [reply(search("s1", "t07")), reply(search("s2", "t08")), reply("Sorry.")]
    async with start_proxy(ruled(never_none, *script), max_searches=1) as proxy:
        response = await proxy.post(body(SIXTY, stream=stream))

    last = proxy.upstream.received[-1]
    assert seen(response).text == "Sorry."
    assert "tool_search" not in last.tools
    assert last.tools
    assert "tool_choice" not in last.json


@FRAMINGS
@STRATEGIES
async def test_Q045_a_named_tool_is_declared(strategy: str, stream: bool) -> None:
    """DESIGN: the bridge stays too, since a choice never changes the tools before it. With `wrap`
    it is declared as well: an upstream refuses a choice that is not in the list."""
    script = ruled(choice_of_a_tool, reply(call("c1", "t42", {})))
    sent = body(SIXTY, stream=stream, tool_choice=named("t42"))
    async with start_proxy(script, strategy=strategy) as proxy:
        response = await proxy.post(sent)

    received = proxy.upstream.requests[0]
    assert seen(response).calls == [["c1", "t42", "{}"]]
    assert SIXTY[42] in received["tools"]
    assert received["tool_choice"] == named("t42")


@FRAMINGS
@pytest.mark.parametrize("mode", ["auto", "required"])
@pytest.mark.parametrize("names", [["t42"], ["t07", "t42"], [f"t{n:02}" for n in range(60)]])
async def test_Q045_allowed_tools_are_declared(names: list[str], mode: str, stream: bool) -> None:
    """DESIGN: of a long list only what is declared is named upstream, and the bridge is added
    to the list: a choice that leaves it out would forbid the search."""
    script = ruled(choice_of_a_tool, reply(call("c1", "t42", {})))
    sent = body(SIXTY, stream=stream, tool_choice=allowed(*names, mode=mode))
    async with start_proxy(script) as proxy:
        response = await proxy.post(sent)

    received = proxy.upstream.received[0]
    assert seen(response).calls == [["c1", "t42", "{}"]]
    assert len(names) > 20 or set(names) <= set(received.tools)
    chosen = received.json["tool_choice"]["allowed_tools"]
    assert chosen["mode"] == mode
    assert {one["function"]["name"] for one in chosen["tools"]} <= set(received.tools)


@FRAMINGS
@pytest.mark.parametrize("most", [1, 3, 5])
@STRATEGIES
async def test_Q046_a_required_call_ends_with_a_real_one(
    most: int, strategy: str, stream: bool
) -> None:
    """The search is not declared behind the cap: what is left has to be called."""
    searches = [reply(search(f"s{n}", f"t{n:02}")) for n in range(most + 1)]

    def answer(sent: Any) -> Raw | None:
        assert sent["tool_choice"] == "required"
        return None

    last = call("c1", "t59", {})
    script = ruled(answer, *searches, reply(last))
    async with start_proxy(script, max_searches=most, strategy=strategy) as proxy:
        response = await proxy.post(body(SIXTY, stream=stream, tool_choice="required"))

    assert seen(response).calls == [["c1", "t59", "{}"]]
    assert len(proxy.upstream.received) == most + 2
    assert "tool_search" not in proxy.upstream.received[-1].tools
    assert proxy.upstream.received[-1].tools


@FRAMINGS
@pytest.mark.parametrize("strategy", ["promote", "wrap"])
async def test_Q046_a_search_for_ever_is_an_end_all_the_same(strategy: str, stream: bool) -> None:
    script = reply(search("s1", "t01"))
    async with start_proxy(script, max_searches=3, strategy=strategy) as proxy:
        response = await proxy.post(body(SIXTY, stream=stream, tool_choice="required"))

    assert response.status_code == 200
    assert len(proxy.upstream.received) <= 5
    assert b'"tool_search"' not in response.content


@FRAMINGS
async def test_Q047_the_choice_none_goes_through(stream: bool) -> None:
    """DESIGN: the tools are folded as in the turns around it, so that the prefix stays; what
    comes back is the client's."""
    script = reply("No tools then.")
    async with start_proxy(script) as proxy:
        response = await proxy.post(body(SIXTY, stream=stream, tool_choice="none"))
        await proxy.post(body(SIXTY, stream=stream))

    first, second = proxy.upstream.requests
    assert seen(response).text == "No tools then."
    assert first["tool_choice"] == "none"
    assert first["tools"] == second["tools"]


@FRAMINGS
@pytest.mark.parametrize("few", [True, False], ids=["few", "many"])
async def test_Q047_what_a_server_says_in_spite_of_none_is_returned(
    few: bool, stream: bool
) -> None:
    made = call("c1", "t01", {})
    tools, mode = (numbered(2), "auto") if few else (SIXTY, "on")
    async with start_proxy(reply("<tool_call>", made), mode=mode) as proxy:
        response = await proxy.post(body(tools, stream=stream, tool_choice="none"))

    told = seen(response)
    assert (told.text, told.calls) == ("<tool_call>", [["c1", "t01", "{}"]])
    assert len(proxy.upstream.received) == 1


@FRAMINGS
@STRATEGIES
@pytest.mark.parametrize("flag", [False, True, None])
async def test_Q048_the_flag_is_the_clients_and_no_call_is_dropped(
    flag: bool | None, strategy: str, stream: bool
) -> None:
    members: dict[str, Any] = {} if flag is None else {"parallel_tool_calls": flag}
    made = [call("c1", "t07", {}), call("c2", "t08", {})]
    script = [reply(search("s1", "t07"), *made)]
    async with start_proxy(*script, strategy=strategy) as proxy:
        response = await proxy.post(body(SIXTY, stream=stream, **members))

    assert [one[:2] for one in seen(response).calls] == [["c1", "t07"], ["c2", "t08"]]
    for sent in proxy.upstream.requests:
        assert sent.get("parallel_tool_calls", "absent") == ("absent" if flag is None else flag)


@FRAMINGS
async def test_Q048_searches_of_one_round_are_answered_in_order(stream: bool) -> None:
    first = reply(search("s1", "t07"), search("s2", "t08"))
    async with start_proxy(first, reply("Done.")) as proxy:
        await proxy.post(body(SIXTY, stream=stream, parallel_tool_calls=False))

    results = [
        m["tool_call_id"] for m in proxy.upstream.requests[1]["messages"] if m["role"] == "tool"
    ]
    assert results == ["s1", "s2"]


@FRAMINGS
async def test_Q049_without_tools_nothing_is_added(stream: bool) -> None:
    asked = request([], stream=stream, response_format={"type": "json_object"})
    del asked["tools"]
    async with start_proxy(reply("{}")) as proxy:
        await proxy.post(dumps(asked))
        await proxy.post(dumps({**asked, "tools": []}))

    bodies = [received.body for received in proxy.upstream.received]
    assert bodies == [dumps(asked), dumps({**asked, "tools": []})]


@FRAMINGS
async def test_Q049_the_format_stays_and_a_search_is_a_tool_call_only(stream: bool) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
    said = '{"name": "tool_search", "arguments": {"queries": ["t07"]}}'
    script = [reply(search("s1", "t07")), reply(said)]
    async with start_proxy(*script) as proxy:
        response = await proxy.post(body(SIXTY, stream=stream, response_format=form))

    assert seen(response).text == said
    assert [one["response_format"] for one in proxy.upstream.requests] == [form, form]


@FRAMINGS
async def test_Q049_a_refusal_of_both_together_is_the_clients_to_see(stream: bool) -> None:
    said = "json mode cannot be combined with tool/function calling"
    async with start_proxy(refusal(said)) as proxy:
        form = {"type": "json_object"}
        response = await proxy.post(body(SIXTY, stream=stream, response_format=form))

    assert (response.status_code, len(proxy.upstream.received)) == (400, 1)
