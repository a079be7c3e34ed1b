"""A conversation of many turns: what the upstream sees next begins with what it has seen."""

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from app.core.body import Body
from app.core.codec import Json
from app.core.memory import Record
from tests.builders import CATALOG, call, reply, search, tool
from tests.player import Framing, Played, Records, buffered, in_pieces, play
from tests.scripts import SIGNED, WEATHER_CALL, wrapped

TOOLS = [*CATALOG, tool("think")]


def deal(n: int) -> Json:
    return call(f"d{n}", "crm__read_deal", {"id": str(n)})


def real(step: Any, strategy: str) -> Any:
    """With `wrap` the model calls deferred tools through the wrapper."""
    if strategy == "promote" or not isinstance(step, dict):
        return step
    message = step["choices"][0]["message"]
    calls = message.get("tool_calls", [])
    through = [
        one
        if one["function"]["name"] in ("tool_search", "think")
        else {
            **one,
            **wrapped(one["id"], one["function"]["name"], json.loads(one["function"]["arguments"])),
        }
        for one in calls
    ]
    choice = {**step["choices"][0], "message": {**message, "tool_calls": through}}
    return {**step, "choices": [choice]} if calls else step


TURNS: list[list[Json]] = [
    [reply("Hello, what can I do?")],
    [reply("Let me look. ", search("s1", "weather")), reply(WEATHER_CALL)],
    [reply("It rains in Oslo.")],
    [reply(search("s2", "deal"), deal(1))],
    [reply(search("s3", "lead")), reply("There is nothing about that.")],
    [reply("Both. ", deal(2), search("s4", "campaign"), call("t1", "think"))],
    [reply("Done.")],
    [reply(search("s5", "nothing of the kind")), reply(search("s6", "refund")), reply("Done.")],
    [
        reply("Filing. ", call("w1", "github__create_issue", {})),
        reply("Filing. ", call("w2", "github__create_issue", {"repo": "r", "title": "t"})),
    ],
    [reply("Filed.")],
    [
        reply({**search("s7", "contact"), **SIGNED}, deal(3)),
    ],
    [reply("Bye.")],
]


class Client:
    """An app's loop: it keeps what it is told and nothing else."""

    def __init__(self, strategy: str, framing: Framing, records: Records | None) -> None:
        self.messages: list[Json] = [{"role": "system", "content": "Be brief."}]
        self.strategy = strategy
        self.framing = framing
        self.records = records

    def turn(self, number: int, replies: list[Json]) -> Played:
        if self.messages[-1]["role"] != "tool":
            self.messages.append({"role": "user", "content": f"Question {number}"})
        played = play(
            *(real(one, self.strategy) for one in replies),
            framing=self.framing,
            tools=TOOLS,
            policy={"strategy": self.strategy},
            messages=self.messages,
            records=self.records,
        )
        assert played.failure is None
        message = {k: v for k, v in played.message.items() if k not in ("index",)}
        self.messages.append(message)
        for made in message.get("tool_calls", []):
            result = {
                "role": "tool",
                "tool_call_id": made["id"],
                "content": f"result of {made['id']}",
            }
            self.messages.append(result)
        return played


def opened(array: bytes | None) -> bytes:
    """An array without its end, to which more may be added."""
    assert array is not None
    return array.rstrip()[:-1]


def continues(later: bytes, earlier: bytes) -> None:
    """What is sent later begins with what was sent before: tools, then messages."""
    one, other = Body(earlier), Body(later)
    assert opened(other.get("tools")).startswith(opened(one.get("tools")))
    assert opened(other.get("messages")).startswith(opened(one.get("messages")))


FRAMINGS = {"buffered": buffered, "streamed": in_pieces(3)}
STRATEGIES = ["promote", "wrap"]


@pytest.mark.parametrize("framing", FRAMINGS.values(), ids=FRAMINGS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_request_begins_with_the_one_before_it(strategy: str, framing: Framing) -> None:
    client = Client(strategy, framing, {})
    sent: list[bytes] = []
    for number, replies in enumerate(TURNS):
        sent += client.turn(number, replies).bodies
    assert len(sent) > len(TURNS)
    played_again = 0
    for earlier, later in pairwise(sent):
        played_again += Body(later).get("messages") == Body(earlier).get("messages")
        continues(later, earlier)
    assert played_again == (strategy == "promote")  # with `wrap` behind an exchange


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_with_wrap_the_tools_are_the_same_bytes_for_ever(strategy: str) -> None:
    client = Client(strategy, buffered, {})
    bodies = [b for n, turn in enumerate(TURNS) for b in client.turn(n, turn).bodies]
    assert (len({Body(body).get("tools") for body in bodies}) == 1) is (strategy == "wrap")


@pytest.mark.parametrize("framing", FRAMINGS.values(), ids=FRAMINGS)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("lost_at", range(1, len(TURNS)))
def test_a_conversation_goes_on_when_all_is_forgotten(
    strategy: str, framing: Framing, lost_at: int
) -> None:
    records: Records = {}
    client = Client(strategy, framing, records)
    for number, replies in enumerate(TURNS):
        if number == lost_at:
            records.clear()
        played = client.turn(number, replies)
        for request in played.requests:
            is_valid(request)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_without_any_memory_every_request_is_valid(strategy: str) -> None:
    client = Client(strategy, buffered, None)
    for number, replies in enumerate(TURNS):
        for request in client.turn(number, replies).requests:
            is_valid(request)


def is_valid(request: Json) -> None:
    """Every call is declared and answered, right behind it; ids are unique in a message."""
    declared = {entry["function"]["name"] for entry in request["tools"]}
    open_ids: list[str] = []
    for message in request["messages"]:
        if message["role"] == "tool":
            open_ids.remove(message["tool_call_id"])
            continue
        assert not open_ids
        calls = message.get("tool_calls") or []
        open_ids = [made["id"] for made in calls]
        assert len(set(open_ids)) == len(open_ids)
        assert {made["function"]["name"] for made in calls} <= declared
    assert not open_ids


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_two_replicas_write_the_same_bytes(strategy: str) -> None:
    records: Records = {}
    client = Client(strategy, buffered, records)
    for number, replies in enumerate(TURNS[:6]):
        client.turn(number, replies)
    copies = [dict(records), {k: r for k, r in reversed(records.items())}]
    bodies = []
    for copy in copies:
        other = Client(strategy, buffered, copy)
        other.messages = json.loads(json.dumps(client.messages))
        bodies.append(other.turn(6, TURNS[6]).bodies)
    assert bodies[0] == bodies[1]


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
