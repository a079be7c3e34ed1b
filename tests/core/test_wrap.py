"""The strategy in which found tools are called through one tool."""

import json
from typing import Any

import pytest

from app.core.wrap import unwrap, wrapped
from tests.builders import CATALOG, REFUND, WEATHER, call, dumps, reply, search, tool
from tests.player import Played, in_pieces, play
from tests.scripts import SCRIPTS, WRAP, WRAPPED_CALL, WRONG_CALL

CALLED = ("c1", "get_weather", '{"city": "Oslo"}')


def scripted(name: str, **setup: Any) -> Played:
    replies, own = SCRIPTS[name]
    return play(*replies, **(own | setup))


READ = {
    "an object": ('{"name":"a","arguments":{"x":1.10}}', ("a", '{"x":1.10}')),
    "spaces and order as written": (
        '{ "arguments": { "z":1, "b":2 }, "name":"a"}',
        ("a", '{ "z":1, "b":2 }'),
    ),
    "a text": ('{"name":"a","arguments":"{\\"x\\":1}"}', ("a", '{"x":1}')),
    "none": ('{"name":"a"}', ("a", "{}")),
    "null": ('{"name":"a","arguments":null}', ("a", "{}")),
    "an empty text": ('{"name":"a","arguments":""}', ("a", "{}")),
    "no name": ('{"arguments":{}}', None),
    "a name that is no text": ('{"name":1,"arguments":{}}', None),
    "cut off": ('{"name":"a","argum', None),
    "a list": ("[]", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("text", "real"), READ.values(), ids=READ)
def test_the_real_call_is_taken_out_as_it_was_written(
    text: str, real: tuple[str, str] | None
) -> None:
    assert unwrap(text) == real


@pytest.mark.parametrize("arguments", ['{"x": 1.10}', "", "not JSON", '{"n":1e999}'])
def test_what_is_wrapped_can_be_unwrapped(arguments: str) -> None:
    assert unwrap(wrapped("a", arguments)) == ("a", arguments or "{}")


def test_two_tools_are_all_that_is_added_and_they_never_change() -> None:
    played = scripted("wrap: a search, a call")
    assert played.tools(0) == ["tool_search", "call_tool"]
    assert played.requests[1]["tools"] == played.requests[0]["tools"]


def test_a_search_shows_whole_schemas() -> None:
    answered = scripted("wrap: a search, a call").requests[1]["messages"][-1]
    said = json.loads(answered["content"])
    assert said["tools"][0] == WEATHER["function"]
    assert "`call_tool`" in said["note"]


def test_the_model_is_told_how_found_tools_are_called() -> None:
    bridge = scripted("wrap: a call").requests[0]["tools"][0]["function"]
    assert "called through `call_tool`" in bridge["description"]
    assert "declared to you at once" not in bridge["description"]


CALLS = [
    "wrap: a call",
    "wrap: a search, a call",
    "wrap: a search beside a call",
    "wrap: arguments as a text",
    "wrap: a call by the tool's own name",
    "wrap: wrong arguments",
    "wrap: wrong arguments, by its own name",
    "wrap: a name that can only mean one tool",
    "wrap: a call that cannot be read",
]


@pytest.mark.parametrize("framing", [in_pieces(3), in_pieces(999)], ids=["pieces", "whole"])
@pytest.mark.parametrize("name", CALLS)
def test_the_app_gets_the_real_call(name: str, framing: Any) -> None:
    assert scripted(name).calls == scripted(name, framing=framing).calls == [CALLED]


def test_parallel_calls_are_each_unwrapped() -> None:
    assert [name for _, name, _ in scripted("wrap: two calls").calls] == [
        "get_weather",
        "crm__read_deal",
    ]


def test_wrong_arguments_are_played_again_behind_a_search_that_shows_the_schema() -> None:
    for name in ("wrap: wrong arguments", "wrap: wrong arguments, by its own name"):
        asked, answered = scripted(name).requests[1]["messages"][1:]
        [made] = asked["tool_calls"]
        assert made["function"]["name"] == "tool_search"
        assert json.loads(made["function"]["arguments"]) == {"queries": ["select:get_weather"]}
        assert answered["tool_call_id"] == made["id"]
        assert json.loads(answered["content"])["tools"] == [WEATHER["function"]]
        assert "town" not in json.dumps(scripted(name).requests[1])


def test_what_takes_the_place_of_a_call_has_its_reasoning_and_its_signature() -> None:
    signature = {"extra_content": {"google": {"thought_signature": "sig"}}}
    wrong = reply("Hm. ", {**WRONG_CALL, **signature}, reasoning_content="plan A")
    asked = play(wrong, reply("Done"), **WRAP).requests[1]["messages"][1]
    assert (asked["content"], asked["reasoning_content"]) == ("", "plan A")
    assert asked["tool_calls"][0]["extra_content"] == signature["extra_content"]


def test_a_direct_tool_is_to_be_called_directly() -> None:
    played = scripted("wrap: a direct tool")
    answered = played.requests[1]["messages"][-1]["content"]
    assert "call it directly" in answered
    assert played.calls == [("c1", "think", "{}")]


def test_an_unknown_name_is_answered_twice_and_then_leaves_as_the_real_call() -> None:
    played = scripted("wrap: an unknown name for ever")
    assert len(played.requests) == 3
    assert "no tool called `send_fax`" in played.requests[1]["messages"][-1]["content"]
    assert played.calls == [("x1", "send_fax", "{}")]


def test_a_call_that_can_never_be_read_ends_in_words() -> None:
    played = scripted("wrap: a call that can never be read")
    assert played.requests[-1]["tool_choice"] == "none"
    assert (played.calls, played.finish) == ([], "stop")


def test_a_hidden_tool_stays_hidden() -> None:
    played = scripted("wrap: a hidden tool")
    assert "no tool called `get_weather`" in played.requests[1]["messages"][-1]["content"]


def named(name: str) -> Any:
    return {"type": "function", "function": {"name": name}}


def test_a_named_tool_is_declared_behind_the_others() -> None:
    played = play(
        reply(call("c1", "get_weather", {"city": "Oslo"})), tool_choice=named("get_weather"), **WRAP
    )
    assert played.tools(0) == ["tool_search", "call_tool", "get_weather"]
    assert played.requests[0]["tool_choice"] == named("get_weather")


def test_where_a_call_is_required_the_last_tool_is_declared() -> None:
    last = CATALOG[-1]["function"]["name"]
    played = scripted("wrap: a search for ever where a call is required")
    assert played.tools(0) == ["tool_search", "call_tool", last]
    assert played.tools(-1) == ["call_tool", last]


def test_allowed_tools_are_those_declared_and_ours() -> None:
    listed = {"mode": "auto", "tools": [named("get_weather"), named("think")]}
    choice = {"type": "allowed_tools", "allowed_tools": listed}
    tools = [*CATALOG, tool("think")]
    played = play(reply(WRAPPED_CALL), tools=tools, tool_choice=choice, **WRAP)
    sent = played.requests[0]["tool_choice"]["allowed_tools"]["tools"]
    assert [entry["function"]["name"] for entry in sent] == ["think", "tool_search", "call_tool"]
    assert played.calls == [CALLED]


def test_the_clients_own_call_tool_keeps_its_name() -> None:
    own = tool("call_tool", "The client's own.", number="string")
    played = play(reply(call("c1", "call_tool", {"number": "7"})), tools=[*CATALOG, own], **WRAP)
    assert "toolfold_call_tool" in played.tools(0)
    assert played.calls == [("c1", "call_tool", '{"number": "7"}')]


def test_an_answer_shows_as_many_whole_schemas_as_the_budget_has_room_for() -> None:
    size = len(dumps(REFUND))
    played = play(
        reply(search("s1", "refund payment", "crm contact")),
        reply("Done"),
        policy={"strategy": "wrap", "result_tokens": size + 10},
    )
    said = json.loads(played.requests[1]["messages"][-1]["content"])
    assert [entry["name"] for entry in said["tools"]] == ["stripe__refund_payment"]
    assert "More tools matched" in said["note"]
