"""The same calls as many servers say them: numbered, named and cut in other ways."""

import pytest

from tests.quirks.pieces import EXPOSURES, FRAMINGS, deltas_as_events, fragments, piece, play


def spellings(first: str, second: str) -> dict[str, bytes]:
    """Two calls, `{"city":"Oslo"}` to the first tool and `{}` to the second, as servers say it."""
    oslo = {"name": first, "arguments": '{"city":"Oslo"}'}
    empty = {"name": second, "arguments": "{}"}
    null = {"name": None, "arguments": None}
    return {
        "no index": fragments(
            piece(None, "c1", name=first),
            piece(None, arguments='{"city":'),
            piece(None, arguments='"Oslo"}'),
            piece(None, "c2", **empty),
        ),
        "index 0 for all": fragments(piece(0, "c1", **oslo), piece(0, "c2", **empty)),
        "index 0 for all, in pieces": fragments(
            piece(0, "c1", name=first, arguments='{"city"'),
            piece(0, arguments=':"Oslo"}'),
            piece(0, "c2", name=second, arguments=""),
            piece(0, arguments="{}"),
        ),
        "numbers with gaps": fragments(piece(3, "c1", **oslo), piece(7, "c2", **empty)),
        "numbers from one": fragments(piece(1, "c1", **oslo), piece(2, "c2", **empty)),
        "ids repeated": fragments(
            piece(0, "c1", name=first, arguments='{"city":'),
            piece(0, "c1", arguments='"Oslo"}'),
            piece(1, "c2", name=second, arguments="{"),
            piece(1, "c2", arguments="}"),
        ),
        "names repeated": fragments(
            piece(0, "c1", name=first, arguments='{"city":'),
            piece(0, "c1", name=first, arguments='"Oslo"}'),
            piece(1, "c2", name=second, arguments=""),
            piece(1, "c2", name=second, arguments="{"),
            piece(1, "c2", name=second, arguments="}"),
        ),
        "id behind the name": fragments(
            piece(0, name=first),
            piece(0, "c1", arguments='{"city":"Oslo"}'),
            piece(1, name=second),
            piece(1, "c2", arguments="{}"),
        ),
        "arguments before the name": fragments(
            piece(0, "c1", arguments='{"city":'),
            piece(0, name=first, arguments='"Oslo"}'),
            piece(1, "c2", name="", arguments="{"),
            piece(1, name=second, arguments="}"),
        ),
        "nulls": fragments(
            piece(0, "c1", **oslo),
            {"index": 0, "id": None, "type": None, "function": null},
            piece(1, "c2", name=second, arguments=None),
            {"index": 1, "id": None, "function": {"arguments": "{}"}},
            {"index": 1, "id": None, "function": None},
        ),
        "interleaved": fragments(
            piece(0, "c1", name=first, arguments=""),
            piece(1, "c2", name=second, arguments=""),
            piece(0, arguments='{"city":'),
            piece(1, arguments="{"),
            piece(0, arguments='"Oslo"}'),
            piece(1, arguments="}"),
        ),
        "one chunk": deltas_as_events(
            {"tool_calls": [piece(0, "c1", **oslo), piece(1, "c2", **empty)]}
        ),
        "finish says stop": fragments(
            piece(0, "c1", **oslo), piece(1, "c2", **empty), finish="stop"
        ),
        "names letter by letter": fragments(
            piece(0, "c1", name=first[0]),
            *(piece(0, name=letter) for letter in first[1:]),
            piece(0, arguments='{"city":"Oslo"}'),
            piece(1, "c2", name=second[0]),
            *(piece(1, name=letter) for letter in second[1:]),
            piece(1, arguments="{}"),
        ),
    }


SPELLINGS = pytest.mark.parametrize("spelling", spellings("a", "b"))


@FRAMINGS
@EXPOSURES
@SPELLINGS
async def test_parallel_calls_come_out_as_two(
    spelling: str, stream: bool, direct: tuple[str, ...]
) -> None:
    text = spellings("geo_find", "weather_now")[spelling]

    told, _, rounds = await play(text, stream, direct)

    assert told.calls == [["c1", "geo_find", '{"city":"Oslo"}'], ["c2", "weather_now", "{}"]]
    assert (len(told.finishes), told.done, rounds) == (1, 1, 1)


@FRAMINGS
@EXPOSURES
@SPELLINGS
async def test_a_search_behind_a_call_is_hidden(
    spelling: str, stream: bool, direct: tuple[str, ...]
) -> None:
    text = spellings("geo_find", "tool_search")[spelling]

    told, _, rounds = await play(text, stream, direct)

    assert told.calls == [["c1", "geo_find", '{"city":"Oslo"}']]
    assert (len(told.finishes), told.done, rounds) == (1, 1, 1)


@FRAMINGS
@EXPOSURES
@SPELLINGS
async def test_a_search_before_a_call_is_hidden(
    spelling: str, stream: bool, direct: tuple[str, ...]
) -> None:
    text = spellings("tool_search", "weather_now")[spelling]

    told, _, rounds = await play(text, stream, direct)

    assert told.calls == [["c2", "weather_now", "{}"]]
    assert (len(told.finishes), told.done, rounds) == (1, 1, 1)


@FRAMINGS
@SPELLINGS
async def test_two_searches_are_both_answered(spelling: str, stream: bool) -> None:
    text = spellings("tool_search", "tool_search")[spelling]

    told, searches, rounds = await play(text, stream)

    assert searches == [("c1", '{"city":"Oslo"}'), ("c2", "{}")]
    assert (told.text, told.calls, rounds) == ("Done.", [], 2)
