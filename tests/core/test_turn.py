"""Searches, calls for the client, failures: scripts of replies, and what both sides get."""

import json
from typing import Any

import pytest

from app.core.bill import search_tokens
from app.core.codec import Json
from app.core.errors import Broken, Refused
from tests.builders import CATALOG, call, reply, search, streamed, tool
from tests.player import Played, in_pieces, play
from tests.scripts import SCRIPTS, SIGNED, WEATHER_CALL

WEATHER = ("c1", "get_weather", '{"city": "Oslo"}')
DEAL = call("c2", "crm__read_deal", {"id": "1"})


def scripted(name: str, **setup: Any) -> Played:
    replies, own = SCRIPTS[name]
    return play(*replies, **(own | setup))


def test_a_search_is_answered_and_its_tool_declared() -> None:
    played = scripted("words, a search, a call")
    assert played.tools(0) == ["tool_search"]
    assert played.tools(1)[:2] == ["tool_search", "get_weather"]
    asked, answered = played.requests[1]["messages"][1:]
    assert asked == {
        "role": "assistant",
        "content": "Let me look. ",
        "tool_calls": [search("s1", "weather")],
    }
    assert (answered["role"], answered["tool_call_id"]) == ("tool", "s1")
    assert json.loads(answered["content"])["tools"][0]["name"] == "get_weather"
    assert (played.message["content"], played.calls) == ("Let me look. ", [WEATHER])


def test_promotion_appends() -> None:
    played = scripted("two searches in turn")
    for before, after in zip(played.requests, played.requests[1:], strict=False):
        for member in ("tools", "messages"):
            assert after[member][: len(before[member])] == before[member]
        assert len(after["messages"]) == len(before["messages"]) + 2


def test_parallel_searches_are_one_exchange() -> None:
    messages = scripted("two searches at once").requests[1]["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant", "tool", "tool"]
    assert [m["tool_call_id"] for m in messages[2:]] == ["s1", "s2"]


def test_an_assistant_turn_of_ours_has_content_and_no_empty_members() -> None:
    played = play(reply(search("s1", "weather"), refusal=None, annotations=[]), reply("Done"))
    assert played.requests[1]["messages"][1].keys() == {"role", "content", "tool_calls"}
    assert played.requests[1]["messages"][1]["content"] == ""


def test_reasoning_and_signatures_go_back_as_they_came() -> None:
    details = [{"type": "reasoning.text", "text": "Hm.", "index": 0}]
    signed = {**search("s1", "weather"), **SIGNED}
    played = play(
        reply(signed, reasoning_content="plan A", reasoning_details=details),
        reply("Done"),
        framing=in_pieces(2),
    )
    asked = played.requests[1]["messages"][1]
    assert asked["reasoning_content"] == "plan A"
    assert asked["tool_calls"] == [signed]


UNREADABLE = ["{}", "", '{"query": ', "null", '{"queries":[]}']


@pytest.mark.parametrize("arguments", UNREADABLE)
def test_a_search_that_says_nothing_is_told_how_to_search(arguments: str) -> None:
    played = play(reply(call("s1", "tool_search", arguments)), reply("Done"))
    asked, answered = played.requests[1]["messages"][1:]
    assert json.loads(asked["tool_calls"][0]["function"]["arguments"]) in (
        {},
        {"queries": []},
        None,
    )
    note = json.loads(answered["content"])["note"]
    assert '{"queries"' in note
    assert "crm (16)" in note
    assert played.message["content"] == "Done"


def test_searches_end_and_the_turn_goes_on() -> None:
    """Five are answered, the sixth is told that there are no more, then no call may be made."""
    played = scripted("a search for ever")
    notes = [json.loads(m["content"])["note"] for m in played.requests[-1]["messages"][2::2]]
    assert len(played.requests) == 7
    assert ["last search" in note for note in notes] == [False] * 4 + [True, False]
    assert "No search was made" in notes[5]
    assert [r.get("tool_choice") for r in played.requests] == [None] * 6 + ["none"]
    assert "tool_search" in played.tools(6)
    assert (played.calls, played.finish) == ([], "stop")


def test_parallel_searches_count_each() -> None:
    searches = [search(f"s{n}", "weather") for n in range(4)]
    played = play(reply(*searches), policy={"max_searches": 2})
    assert len(played.requests) == 2
    answers = [json.loads(m["content"])["note"] for m in played.requests[1]["messages"][2:]]
    assert ["No search was made" in note for note in answers] == [False, False, True, True]
    assert played.requests[1]["tool_choice"] == "none"


def test_where_a_call_is_required_the_search_goes_instead() -> None:
    played = scripted("a search for ever where a call is required")
    assert {r["tool_choice"] for r in played.requests} == {"required"}
    assert "tool_search" not in played.tools(-1)
    assert played.tools(-1)


def test_a_search_does_not_satisfy_a_required_call() -> None:
    last = CATALOG[-1]["function"]["name"]
    final = call("c1", last, {"id": "7"})
    played = play(reply(search("s1", "weather")), reply(final), tool_choice="required")
    assert played.tools(0) == ["tool_search", last]
    assert [r["tool_choice"] for r in played.requests] == ["required"] * 2
    assert played.calls == [("c1", last, '{"id": "7"}')]


def test_usage_is_the_sum_of_all_rounds_details_too() -> None:
    assert scripted("two searches in turn").completion["usage"] == {
        "prompt_tokens": 60,
        "completion_tokens": 6,
        "total_tokens": 66,
        "prompt_tokens_details": {"cached_tokens": 6},
    }


def test_only_words_told_to_the_client_are_charged_to_its_limit() -> None:
    silent = play(reply(search("s1", "x"), n=9), reply("Done"), max_completion_tokens=500)
    assert [r["max_completion_tokens"] for r in silent.requests] == [500, 500]
    spoken = play(reply("Hm. ", search("s1", "x"), n=9), reply("Done"), max_completion_tokens=500)
    assert [r["max_completion_tokens"] for r in spoken.requests] == [500, 491]


def test_a_mixed_round_gives_the_client_its_calls_and_ends() -> None:
    played = scripted("a search between calls")
    assert len(played.requests) == 1
    assert played.calls == [WEATHER, ("c2", "crm__read_deal", '{"id": "1"}')]
    assert played.finish == "tool_calls"


def test_indexes_are_closed_up_in_a_stream() -> None:
    replies, _ = SCRIPTS["a search between calls"]
    played = play(*replies, framing=in_pieces(4))
    fragments = [
        f for c in played.visible for x in c["choices"] for f in x["delta"].get("tool_calls", [])
    ]
    assert {f["index"] for f in fragments} == {0, 1}


def test_the_signature_of_a_hidden_first_call_moves_to_the_first_that_is_left() -> None:
    first = scripted("a signed search beside a call").message["tool_calls"][0]
    assert first == {**WEATHER_CALL, **SIGNED}


def test_a_signed_call_keeps_its_own_signature() -> None:
    signed = {**WEATHER_CALL, "extra_content": {"google": {"thought_signature": "own"}}}
    played = play(reply({**search("s1", "refund"), **SIGNED}, signed))
    assert played.message["tool_calls"] == [signed]


def test_a_declared_call_leaves_before_its_arguments_are_whole() -> None:
    chunks = list(streamed(reply(call("c1", "think", {"a": "bcd"})), 1))[:6]
    played = play(chunks, tools=[*CATALOG, tool("think")])
    assert isinstance(played.failure, Broken)
    assert played.visible == chunks


def test_a_name_in_pieces_is_held_until_it_is_settled() -> None:
    logs = tool("tool_search_logs", "Logs.", q="string")

    def fragment(**function: str) -> Json:
        delta = {"tool_calls": [{"index": 0, "id": "c1", "function": function}]}
        return {"id": "u", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}

    end = {"id": "u", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    pieces = [fragment(name="tool_"), fragment(name="search_logs"), fragment(arguments='{"q":"e"}')]
    played = play([*pieces, end], tools=[*CATALOG, logs])
    assert played.calls == [("c1", "tool_search_logs", '{"q":"e"}')]
    twin = [fragment(name="tool_"), fragment(name="search"), fragment(arguments='{"query":"geo"}')]
    assert play([*twin, end], reply("Done"), tools=[*CATALOG, logs]).message["content"] == "Done"


def test_a_stream_that_is_cut_off_is_a_failure() -> None:
    chunks = list(streamed(reply("Hello there")))
    assert isinstance(play(chunks[:3]).failure, Broken)
    assert play(chunks[:-1]).failure is None


def test_a_cut_search_is_not_run() -> None:
    played = play(list(streamed(reply(search("s1", "weather"))))[:4])
    assert isinstance(played.failure, Broken)
    assert len(played.requests) == 1


def test_a_failure_of_any_round_keeps_its_status_while_there_is_one() -> None:
    busy = Refused(429, b"{}")
    played = play(reply(search("s1", "weather")), busy)
    assert (played.failure, len(played.requests), played.visible) == (busy, 2, [])


@pytest.mark.parametrize("failure", [Refused(500, b"{}"), Broken("cut")], ids=["refused", "broken"])
def test_a_hidden_round_is_tried_once_more_when_the_status_is_spent(failure: Any) -> None:
    once = play(reply("Hm. ", search("s1", "x")), failure, reply("Done"), begun=True)
    assert (once.failure, once.message["content"]) == (None, "Hm. Done")
    assert once.requests[1] == once.requests[2]
    twice = play(reply("Hm. ", search("s1", "x")), failure, begun=True)
    assert (twice.failure, len(twice.requests)) == (failure, 3)


def test_a_hidden_round_that_breaks_off_is_tried_once_more_while_there_is_a_status() -> None:
    """Without us it is a request of the client's own, and its SDK sends that again."""
    once = play(reply(search("s1", "x")), Broken("cut"), reply("Done"))
    assert (once.failure, once.message["content"]) == (None, "Done")
    assert once.requests[1] == once.requests[2]
    twice = play(reply(search("s1", "x")), Broken("cut"))
    assert (twice.failure, len(twice.requests)) == (Broken("cut"), 3)


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("failure", [Refused(500, b"{}"), Broken("cut")], ids=["refused", "broken"])
def test_a_first_round_is_never_tried_again(failure: Any, begun: bool) -> None:
    assert len(play(failure, begun=begun).requests) == 1


def test_a_turn_can_declare_no_more_than_the_upstream_takes() -> None:
    script = [reply(search(f"s{n}", noun)) for n, noun in enumerate(("contact", "deal", "lead"))]
    played = play(*script, reply("Done"), policy={"max_tools": 7, "limit": 4})
    assert max(len(r["tools"]) for r in played.requests) == 7
    assert any("lead" in name for name in played.tools(-1))


def test_every_round_that_is_over_is_told_of() -> None:
    played = scripted("words, a search, a call").turn.played
    assert [one.finish for one in played] == ["tool_calls", "tool_calls"]
    assert all(one.usage and one.model == "m" for one in played)
    assert search_tokens(played) == sum(one.usage.prompt for one in played[1:] if one.usage) + 1
