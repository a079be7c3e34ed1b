import json

import pytest

from app.core.calls import Calls
from app.core.codec import Json


def piece(
    index: int | None = None, id: str | None = None, name: str | None = None, args: object = None
) -> Json:
    function = {k: v for k, v in (("name", name), ("arguments", args)) if v is not None}
    outer = {k: v for k, v in (("index", index), ("id", id)) if v is not None}
    return {**outer, "function": function}


ONE = [("c1", "get_weather", '{"city":"Oslo"}')]
TWO = [("c1", "a", '{"n":1}'), ("c2", "b", '{"n":2}')]
FRAGMENTS = {
    "OpenAI": (
        [
            piece(0, "c1", "get_weather", ""),
            piece(0, args='{"city":'),
            piece(0, args='"Oslo"}'),
        ],
        ONE,
    ),
    "whole": ([piece(0, "c1", "get_weather", '{"city":"Oslo"}')], ONE),
    "no index": ([piece(None, "c1", "get_weather"), piece(args='{"city":"Oslo"}')], ONE),
    "empty id and name in later pieces": (
        [piece(0, "c1", "get_weather", ""), piece(0, "", "", '{"city":"Oslo"}')],
        ONE,
    ),
    "id and name repeated with every piece": (
        [
            piece(0, "c1", "get_weather", '{"city":'),
            piece(0, "c1", "get_weather", '"Oslo"'),
            piece(0, "c1", "get_weather", "}"),
        ],
        ONE,
    ),
    "the name in pieces": (
        [piece(0, "c1", "get_", ""), piece(0, name="weather"), piece(0, args='{"city":"Oslo"}')],
        ONE,
    ),
    "arguments before the name": (
        [piece(0, "c1", "", '{"city":'), piece(0, name="get_weather", args='"Oslo"}')],
        ONE,
    ),
    "the id comes late": (
        [piece(0, name="get_weather", args='{"city":"Oslo"}'), piece(0, "c1", args="")],
        ONE,
    ),
    "arguments as an object": ([piece(0, "c1", "get_weather", {"city": "Oslo"})], ONE),
    "two": (
        [piece(0, "c1", "a", '{"n":1}'), piece(1, "c2", "b", ""), piece(1, args='{"n":2}')],
        TWO,
    ),
    "two, in turn": (
        [
            piece(0, "c1", "a", ""),
            piece(1, "c2", "b", ""),
            piece(0, args='{"n":1}'),
            piece(1, args='{"n":2}'),
        ],
        TWO,
    ),
    "two, both with index 0": (
        [piece(0, "c1", "a", '{"n":1}'), piece(0, "c2", "b", '{"n":2}')],
        TWO,
    ),
    "two, both with index 0, in pieces": (
        [
            piece(0, "c1", "a", '{"n"'),
            piece(0, args=":1}"),
            piece(0, "c2", "b", ""),
            piece(0, args='{"n":2}'),
        ],
        TWO,
    ),
    "two, without any index": (
        [piece(None, "c1", "a", '{"n":1}'), piece(None, "c2", "b", '{"n":2}')],
        TWO,
    ),
    "two, index 0 and no id": (
        [piece(0, name="a", args='{"n":1}'), piece(0, name="a", args='{"n":2}')],
        [("", "a", '{"n":1}'), ("", "a", '{"n":2}')],
    ),
    "indexes that do not start at 0": (
        [piece(3, "c1", "a", '{"n":1}'), piece(7, "c2", "b", '{"n":2}')],
        TWO,
    ),
}


@pytest.mark.parametrize(("fragments", "whole"), FRAGMENTS.values(), ids=FRAGMENTS)
def test_fragments_make_calls(fragments: list[Json], whole: list[tuple[str, str, str]]) -> None:
    calls = Calls()
    for fragment in fragments:
        calls.add(fragment)
    assert [(c.id, c.name, c.arguments) for c in calls.all] == whole


SETTLED = {
    "a name alone": ([piece(0, "c1", "tool_", "")], [False]),
    "arguments have begun": ([piece(0, "c1", "tool_search", ""), piece(0, args="{")], [True]),
    "arguments without a name": ([piece(0, "c1", "", "{")], [False]),
    "another call has begun": ([piece(0, "c1", "a", ""), piece(1, "c2", "b", "")], [True, False]),
}


@pytest.mark.parametrize(("fragments", "settled"), SETTLED.values(), ids=SETTLED)
def test_a_name_is_settled_when_nothing_can_be_added(
    fragments: list[Json], settled: list[bool]
) -> None:
    calls = Calls()
    for fragment in fragments:
        calls.add(fragment)
    assert [call.settled for call in calls.all] == settled
    calls.settle()
    assert all(call.settled for call in calls.all)


def test_what_is_not_ours_to_read_is_kept() -> None:
    calls = Calls()
    calls.add({"index": 0, "id": "c1", "type": "function", "function": {"name": "a"}})
    call = calls.add({"index": 0, "extra_content": {"google": {"thought_signature": "s"}}})
    call.add({"function": {"arguments": "{}"}})
    assert call.as_message() == {
        "id": "c1",
        "type": "function",
        "function": {"name": "a", "arguments": "{}"},
        "extra_content": {"google": {"thought_signature": "s"}},
    }


@pytest.mark.parametrize("arguments", ["", '{"query": ', "geo"])
def test_arguments_that_are_not_json_go_back_as_an_empty_object(arguments: str) -> None:
    call = Calls().add(piece(0, "c1", "tool_search", arguments))
    assert json.loads(call.as_message()["function"]["arguments"]) == {}


def test_a_custom_call_keeps_its_input() -> None:
    calls = Calls()
    calls.add({"index": 0, "id": "c1", "type": "custom", "custom": {"name": "sql", "input": "SEL"}})
    call = calls.add({"index": 0, "custom": {"input": "ECT 1"}})
    assert call.as_message() == {
        "id": "c1",
        "type": "custom",
        "custom": {"name": "sql", "input": "SELECT 1"},
    }
