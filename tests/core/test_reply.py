from decimal import Decimal

import pytest

from app.core.calls import Call
from app.core.chunks import Chunk
from app.core.codec import Json
from app.core.reply import Reply, added
from app.core.round import Entry

SUMS = {
    "numbers": ({"a": 1}, {"a": 2}, {"a": 3}),
    "details": (
        {"d": {"cached": 1}},
        {"d": {"cached": 2, "audio": 0}},
        {"d": {"cached": 3, "audio": 0}},
    ),
    "details that are new": ({"d": None}, {"d": {"cached": 2}}, {"d": {"cached": 2}}),
    "costs": ({"cost": Decimal("0.10")}, {"cost": Decimal("0.2")}, {"cost": Decimal("0.30")}),
    "words": ({"tier": "a"}, {"tier": "b"}, {"tier": "b"}),
    "booleans": ({"is_byok": True}, {"is_byok": True}, {"is_byok": True}),
    "null keeps what was": ({"a": 1}, {"a": None}, {"a": 1}),
    "nothing": ({"a": 1}, None, {"a": 1}),
    "the first": ({}, {"a": 1}, {"a": 1}),
}


@pytest.mark.parametrize(("one", "other", "total"), SUMS.values(), ids=SUMS)
def test_usage_adds_up(one: Json, other: Json | None, total: Json) -> None:
    assert added(one, other) == total


def entry(delta: Json, *calls: Call, raw: bytes | None = b"raw", **choice: object) -> Entry:
    choices = [{"index": 0, "delta": delta, "finish_reason": None, **choice}]
    return Entry(Chunk({"id": "1", "created": 1, "choices": choices}, raw), calls)


def told(reply: Reply, entry: Entry, **leaves: bool) -> list[Chunk]:
    return reply.tell(entry, dict.fromkeys(entry.calls, leaves.get("leaves", True)), hidden=False)


def test_a_chunk_that_needs_no_change_is_the_bytes_that_came() -> None:
    [chunk] = told(Reply(), entry({"content": "a"}))
    assert chunk.raw == b"raw"


def test_a_role_waits_for_something_to_say() -> None:
    reply = Reply()
    assert told(reply, entry({"role": "assistant", "content": ""})) == []
    assert not reply.begun
    assert len(told(reply, entry({"content": "a"}))) == 2
    assert reply.begun


def test_a_later_round_speaks_as_the_first() -> None:
    reply = Reply()
    told(reply, entry({"role": "assistant", "content": "a"}))
    reply.next_round(None)
    data = {
        "id": "2",
        "created": 2,
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": "b"}}],
    }
    [chunk] = told(reply, Entry(Chunk(data, b"raw"), ()))
    assert (chunk.data["id"], chunk.data["created"], chunk.raw) == ("1", 1, None)
    assert chunk.data["choices"][0]["delta"] == {"content": "b"}


def test_choices_that_are_counted_up_are_one() -> None:
    [chunk] = told(Reply(), entry({"content": "a"}, index=3))
    assert chunk.data["choices"][0]["index"] == 0


def test_a_call_is_told_its_whole_name_first_and_once() -> None:
    call = Call(id="c1", name="get_weather")
    reply = Reply()
    first = {"index": 4, "id": "c1", "function": {"name": "get_", "arguments": ""}}
    second = {"index": 4, "id": "c1", "function": {"name": "weather", "arguments": "{"}, "x": 1}
    [one] = told(reply, entry({"tool_calls": [first]}, call))
    [two] = told(reply, entry({"tool_calls": [second]}, call))
    assert one.data["choices"][0]["delta"]["tool_calls"] == [
        {
            "index": 0,
            "id": "c1",
            "type": "function",
            "function": {"name": "get_weather", "arguments": ""},
        }
    ]
    assert two.data["choices"][0]["delta"]["tool_calls"] == [
        {"index": 0, "function": {"arguments": "{"}, "x": 1}
    ]


REPEATS = {
    "the same words": ("Looking. ", ["Look", "ing. "], ""),
    "the same and more": ("Looking. ", ["Looking", ". Found"], "Found"),
    "other words": ("Looking. ", ["Look", "s good"], "Looks good"),
    "fewer words": ("Looking. ", ["Look"], ""),
}


@pytest.mark.parametrize(("before", "pieces", "after"), REPEATS.values(), ids=REPEATS)
def test_words_that_a_round_repeats_are_told_once(
    before: str, pieces: list[str], after: str
) -> None:
    reply = Reply()
    told(reply, entry({"content": before}))
    reply.next_round(None, repeat=before)
    chunks = [chunk for piece in pieces for chunk in told(reply, entry({"content": piece}))]
    assert "".join(c.data["choices"][0]["delta"]["content"] for c in chunks) == after
