from collections.abc import Iterator

import pytest

from app.core.chunks import as_chunk, as_completion, fold
from app.core.codec import Json
from tests.builders import call, reply, streamed

REPLIES = {
    "words": reply("Hello there"),
    "a call": reply(call("c1", "get_weather", {"city": "Oslo"})),
    "words and calls": reply("Let me see. ", call("c1", "a"), call("c2", "b", {"x": 1})),
    "reasoning": reply("So.", reasoning_content="Think first."),
    "a signed call": reply(call("c1", "a", extra_content={"google": {"signature": "s"}})),
}


def without_nothing(value: Json) -> Json:
    """A message says the same with and without members that are empty."""
    message = value["choices"][0]["message"]
    kept = {k: v for k, v in message.items() if v not in (None, "", [])}
    return {**value, "choices": [{**value["choices"][0], "message": kept}]}


@pytest.mark.parametrize("completion", REPLIES.values(), ids=REPLIES)
def test_a_buffered_reply_is_a_chunk_and_back(completion: Json) -> None:
    assert as_completion(as_chunk(completion)) == completion


@pytest.mark.parametrize("cut", [1, 2, 7, 100])
@pytest.mark.parametrize("completion", REPLIES.values(), ids=REPLIES)
def test_a_stream_folds_into_the_reply_it_was_cut_from(completion: Json, cut: int) -> None:
    folded = as_completion(fold(streamed(completion, cut)))
    assert without_nothing(folded) == without_nothing(completion)


def deltas(*each: Json) -> Iterator[Json]:
    return ({"choices": [{"index": 0, "delta": delta}]} for delta in each)


FOLDS = {
    "null says nothing": (
        [{"content": "a"}, {"content": None}],
        {"content": "a"},
    ),
    "null alone stays": ([{"content": None}], {"content": None}),
    "entries merge by the value of their index": (
        [
            {"tool_calls": [{"index": 1, "id": "b", "function": {"arguments": "{"}}]},
            {"tool_calls": [{"index": 0, "id": "a"}]},
            {"tool_calls": [{"index": 1, "function": {"arguments": "}"}}]},
        ],
        {
            "tool_calls": [
                {"index": 1, "id": "b", "function": {"arguments": "{}"}},
                {"index": 0, "id": "a"},
            ]
        },
    ),
    "entries without an index are appended": (
        [{"annotations": [{"n": 1}]}, {"annotations": [{"n": 2}]}],
        {"annotations": [{"n": 1}, {"n": 2}]},
    ),
    "reasoning details grow": (
        [
            {"reasoning_details": [{"index": 0, "type": "t", "text": "a"}]},
            {"reasoning_details": [{"index": 0, "text": "b", "signature": "s"}]},
        ],
        {"reasoning_details": [{"index": 0, "type": "t", "text": "ab", "signature": "s"}]},
    ),
    "a role that is repeated does not grow": (
        [{"role": "assistant"}, {"role": "assistant", "content": "a"}],
        {"role": "assistant", "content": "a"},
    ),
}


@pytest.mark.parametrize(("parts", "whole"), FOLDS.values(), ids=FOLDS)
def test_folding(parts: list[Json], whole: Json) -> None:
    assert fold(deltas(*parts))["choices"][0]["delta"] == whole


def test_folding_does_not_change_its_parts() -> None:
    parts = list(deltas({"x": {"y": [1]}}, {"x": {"y": [2]}}))
    fold(parts)
    assert parts == list(deltas({"x": {"y": [1]}}, {"x": {"y": [2]}}))
