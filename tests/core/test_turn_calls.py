"""Calls of tools that were not declared: scripts of replies, and what both sides get."""

import json
from typing import Any

import pytest

from app.core.errors import Refused
from tests.builders import CATALOG, call, dumps, reply, search, tool
from tests.player import Played, in_pieces, play
from tests.scripts import SCRIPTS, UNDECLARED, WEATHER_CALL, WRAP, WRONG_CALL, wrapped

WEATHER = ("c1", "get_weather", '{"city": "Oslo"}')
DEAL = call("c2", "crm__read_deal", {"id": "1"})


def scripted(name: str, **setup: Any) -> Played:
    replies, own = SCRIPTS[name]
    return play(*replies, **(own | setup))


def test_a_valid_blind_call_leaves_as_it_is() -> None:
    played = scripted("a blind call")
    assert (len(played.requests), played.calls) == (1, [WEATHER])


def test_an_invalid_blind_call_is_played_again_with_the_tool_declared() -> None:
    played = scripted("a blind call with wrong arguments")
    assert played.tools(0) == ["tool_search"]
    assert played.tools(1) == ["tool_search", "get_weather"]
    assert played.requests[1]["messages"] == played.requests[0]["messages"]
    assert played.calls == [WEATHER]
    assert played.completion["usage"]["prompt_tokens"] == 30


def test_a_second_invalid_call_leaves_as_it_is() -> None:
    played = play(reply(WRONG_CALL))
    assert len(played.requests) == 2
    assert played.calls == [("c0", "get_weather", '{"town": "Oslo"}')]


def test_another_tool_called_wrong_after_a_replay_leaves_too() -> None:
    played = play(reply(WRONG_CALL), reply(call("c9", "crm__read_deal", {})))
    assert (len(played.requests), played.calls) == (2, [("c9", "crm__read_deal", "{}")])


def test_all_calls_of_a_round_that_is_played_again_come_again() -> None:
    played = play(reply(WRONG_CALL, DEAL), reply(WEATHER_CALL, DEAL))
    assert played.calls == [WEATHER, ("c2", "crm__read_deal", '{"id": "1"}')]


def test_a_round_of_which_a_call_has_left_is_not_played_again() -> None:
    thought = call("c0", "think", {})
    setup: dict[str, Any] = {"tools": [*CATALOG, tool("think")], "framing": in_pieces(5)}
    played = play(reply(thought, WRONG_CALL | {"id": "c9"}), **setup)
    assert len(played.requests) == 1
    assert [name for _, name, _ in played.calls] == ["think", "get_weather"]


@pytest.mark.parametrize("framing", [in_pieces(3), in_pieces(99)], ids=["pieces", "whole"])
def test_words_before_a_replay_are_told_once(framing: Any) -> None:
    replies, _ = SCRIPTS["words and a blind call with wrong arguments"]
    assert play(*replies, framing=framing).message["content"] == "Looking. "


def test_other_words_after_a_replay_are_all_told() -> None:
    assert scripted("other words when played again").message["content"] == "Looking. Let me see. "


def test_a_refusal_of_an_undeclared_tool_is_played_again() -> None:
    played = scripted("a refusal of an undeclared tool")
    assert played.tools(1) == ["tool_search", "get_weather"]
    assert played.calls == [WEATHER]


OTHER_REFUSALS = {
    "it names no tool of ours": Refused(400, dumps({"error": {"message": "no fax today"}})),
    "it is the server's fault": Refused(500, UNDECLARED.body),
    "it is no JSON": Refused(400, b"get_weather"),
}


@pytest.mark.parametrize("refusal", OTHER_REFUSALS.values(), ids=OTHER_REFUSALS)
def test_other_refusals_are_passed_on(refusal: Refused) -> None:
    played = play(refusal)
    assert (played.failure, len(played.requests)) == (refusal, 1)


def test_a_second_refusal_is_passed_on() -> None:
    assert play(UNDECLARED, UNDECLARED).failure is UNDECLARED


def test_a_name_that_can_only_mean_one_tool_is_that_tool() -> None:
    played = scripted("a name that can only mean one tool")
    assert played.tools(1) == ["tool_search", "get_weather"]
    assert played.requests[1]["messages"] == played.requests[0]["messages"]
    assert played.calls == [WEATHER]


def test_an_unknown_name_is_answered_in_words() -> None:
    asked, answered = scripted("an unknown name, then words").requests[1]["messages"][1:]
    assert asked["tool_calls"][0]["function"]["name"] == "send_fax"
    assert "no tool called `send_fax`" in answered["content"]
    assert "`tool_search`" in answered["content"]


def test_close_names_are_given_three_at_most() -> None:
    played = play(reply(call("x1", "crm__read_people")), reply("Sorry"))
    answer = played.requests[1]["messages"][2]["content"]
    close = answer.partition("Did you mean ")[2].partition("?")[0].split(", ")
    assert len(close) == 3
    assert all(name.startswith("`crm__read_") for name in close)


def test_an_unknown_name_leaves_at_the_third_time() -> None:
    played = scripted("an unknown name for ever")
    assert len(played.requests) == 3
    assert played.calls == [("x1", "send_fax", "{}")]


def test_an_unknown_name_beside_a_call_leaves_with_it() -> None:
    played = scripted("an unknown name beside a call")
    assert (len(played.requests), len(played.calls)) == (1, 2)


def test_an_illegal_name_does_not_poison_the_conversation() -> None:
    played = play(reply(call("x1", "send fax!")), reply(call("x2", ""), n=2), reply("Sorry"))
    names = [m["tool_calls"][0]["function"]["name"] for m in played.requests[2]["messages"][1::2]]
    assert names == ["send_fax_", "_"]


def test_a_hidden_tool_never_leaves_and_is_never_named() -> None:
    played = scripted("a hidden tool for ever")
    assert len(played.requests) == 4
    assert [r.get("tool_choice") for r in played.requests] == [None, None, None, "none"]
    assert (played.calls, played.finish) == ([], "stop")
    first = json.dumps(played.requests[0])
    assert "get_weather" not in first


def test_a_hidden_tool_is_left_out_beside_a_call() -> None:
    played = scripted("a hidden tool beside a call")
    assert played.calls == [("c2", "crm__read_deal", '{"id": "1"}')]


def test_a_tool_that_is_not_allowed_is_unknown() -> None:
    allowed = {
        "mode": "auto",
        "tools": [{"type": "function", "function": {"name": "crm__read_deal"}}],
    }
    choice = {"type": "allowed_tools", "allowed_tools": allowed}
    played = play(reply(WEATHER_CALL), reply("Sorry"), tool_choice=choice)
    assert "no tool called `get_weather`" in played.requests[1]["messages"][2]["content"]


def test_how_the_model_came_to_know_a_tool_is_known() -> None:
    history = [{"role": "assistant", "tool_calls": [WEATHER_CALL]}]
    history += [{"role": "tool", "tool_call_id": "c1", "content": "Rain"}]
    for played, via in (
        (play(reply(WEATHER_CALL)), "manifest"),
        (play(reply(search("s1", "weather")), reply(WEATHER_CALL)), "search"),
        (play(reply(WEATHER_CALL), messages=history), "history"),
        (play(reply(wrapped("c1", "get_weather", {"city": "Oslo"})), **WRAP), "manifest"),
    ):
        assert [(one.name, one.via) for one in played.turn.discoveries] == [("get_weather", via)]
    assert play(reply("Hello")).turn.discoveries == []
