"""What is remembered of a turn, and what becomes of it in the next request."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from app.core.codec import Json
from app.core.memory import Record
from tests.builders import reply, search, tool
from tests.client import TOOLS, Client, deal, is_valid
from tests.player import Played, Records, buffered, play
from tests.scripts import SIGNED, WEATHER_CALL

STRATEGIES = ["promote", "wrap"]


def after_a_mixed_round(strategy: str, records: Records | None) -> tuple[Client, Played]:
    client = Client(strategy, buffered, records)
    signed = {**search("s1", "refund"), **SIGNED}
    client.turn(0, [reply("Look. ", signed, WEATHER_CALL, deal(2))])
    return client, client.turn(1, [reply("Done.")])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_mixed_round_is_whole_again_in_the_next_request(strategy: str) -> None:
    client, played = after_a_mixed_round(strategy, {})
    assert len(played.requests) == 1
    asked, *answers = played.requests[0]["messages"][2:]
    assert [made["id"] for made in asked["tool_calls"]] == ["s1", "c1", "d2"]
    assert [m["tool_call_id"] for m in answers] == ["s1", "c1", "d2"]
    assert asked["tool_calls"][0]["extra_content"] == SIGNED["extra_content"]
    assert "extra_content" not in asked["tool_calls"][1]
    assert client.messages[2]["tool_calls"][0]["extra_content"] == SIGNED["extra_content"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_without_memory_the_first_call_of_a_mixed_round_is_still_signed(strategy: str) -> None:
    _, played = after_a_mixed_round(strategy, None)
    asked = next(m for m in played.requests[0]["messages"] if m.get("tool_calls"))
    assert [made["id"] for made in asked["tool_calls"]] == ["c1", "d2"]
    assert asked["tool_calls"][0]["extra_content"] == SIGNED["extra_content"]


def test_what_a_mixed_round_found_is_declared_next() -> None:
    _, played = after_a_mixed_round("promote", {})
    assert "stripe__refund_payment" in played.tools(0)


def test_a_tool_that_is_no_longer_sent_or_admitted_does_not_come_back() -> None:
    for policy, tools in (
        ({"hidden": ("stripe__*",)}, TOOLS),
        ({}, [t for t in TOOLS if "stripe" not in t["function"]["name"]]),
    ):
        for strategy in STRATEGIES:
            records: Records = {}
            client = Client(strategy, buffered, records)
            client.turn(0, [reply(search("s1", "refund payment")), reply("Found it.")])
            client.messages.append({"role": "user", "content": "Go on"})
            chosen = {"strategy": strategy, **policy}
            played = play(
                reply("Done"), tools=tools, policy=chosen, messages=client.messages, records=records
            )
            assert "stripe__refund_payment" not in json.dumps(played.requests[0])
            assert len(played.requests[0]["messages"]) == len(client.messages) + 2


EDITS: dict[str, Callable[[list[Json]], Any]] = {
    "compacted": lambda messages: messages.__delitem__(slice(1, 4)),
    "the answer rewritten": lambda messages: messages[4].update(content="Something else."),
    "the words before the call left out": lambda messages: messages[2].update(content=None),
    "content in parts": lambda messages: messages[2].update(
        content=[{"type": "text", "text": messages[2]["content"]}]
    ),
    "no content": lambda messages: messages[2].pop("content"),
    "other ids": lambda messages: (
        messages[2]["tool_calls"][0].update(id="other"),
        messages[3].update(tool_call_id="other"),
    ),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_edited_history_is_served(strategy: str, edit: Callable[[list[Json]], Any]) -> None:
    client = Client(strategy, buffered, {})
    client.turn(0, [reply("Let me look. ", search("s1", "weather")), reply("Here. ", WEATHER_CALL)])
    client.turn(1, [reply("It rains.")])
    edit(client.messages)
    played = client.turn(2, [reply("Done.")])
    is_valid(played.requests[0])


@pytest.mark.parametrize("content", ["text", "parts"])
def test_words_before_a_search_stand_once(content: str) -> None:
    client = Client("promote", buffered, {})
    client.turn(0, [reply("Let me look. ", search("s1", "weather")), reply("Here. ", WEATHER_CALL)])
    if content == "parts":
        client.messages[2]["content"] = [{"type": "text", "text": client.messages[2]["content"]}]
    [request] = client.turn(1, [reply("It rains.")]).requests
    assert json.dumps(request["messages"]).count("Let me look. ") == 1
    assert json.dumps(request["messages"]).count("Here. ") == 1


def test_a_renamed_bridge_renames_what_is_remembered() -> None:
    records: Records = {}
    client = Client("promote", buffered, records)
    client.turn(0, [reply(search("s1", "weather")), reply("Found.")])
    client.messages.append({"role": "user", "content": "Go on"})
    tools = [*TOOLS, tool("tool_search", "The client's own.", query="string")]
    played = play(reply("Done"), tools=tools, messages=client.messages, records=records)
    made = played.requests[0]["messages"][2]["tool_calls"][0]
    assert made["function"]["name"] == "toolfold_tool_search"
    is_valid(played.requests[0])


def test_a_turn_without_anything_hidden_is_not_remembered() -> None:
    records: Records = {}
    client = Client("promote", buffered, records)
    client.turn(0, [reply("Hello")])
    client.turn(1, [reply(WEATHER_CALL)])
    assert records == {}


def test_a_record_holds_no_schema() -> None:
    records: Records = {}
    Client("wrap", buffered, records).turn(0, [reply(search("s1", "weather")), reply("Found.")])
    [record] = records.values()
    assert isinstance(record, Record)
    assert "Current weather" not in str(record)


def test_the_same_answer_to_another_question_is_another_turn() -> None:
    records: Records = {}
    client = Client("promote", buffered, records)
    client.turn(0, [reply(search("s1", "weather")), reply("Done.")])
    client.turn(1, [reply(search("s2", "refund")), reply("Done.")])
    [request] = client.turn(2, [reply("Bye.")]).requests
    made = [m["tool_calls"][0]["id"] for m in request["messages"] if m.get("tool_calls")]
    assert made == ["s1", "s2"]


def test_without_memory_a_tool_is_shown_once_before_its_first_use() -> None:
    client = Client("wrap", buffered, None)
    client.turn(0, [reply(deal(1))])
    client.turn(1, [reply(deal(2))])
    [request] = client.turn(2, [reply("Done.")]).requests
    calls = [
        made["function"]["name"] for m in request["messages"] for made in m.get("tool_calls", [])
    ]
    assert calls == ["tool_search", "call_tool", "call_tool"]
