"""Tool calls in pieces. Who gets a call is decided once its name is settled, and the client
gets calls that an SDK can read."""

import pytest

from app.core.codec import Json
from tests.builders import body, call, dumps, numbered, reply, search
from tests.conftest import start_proxy
from tests.quirks.pieces import EXPOSURES, FRAMINGS, fragments, piece, play
from tests.quirks.records import TOOLS, script, sse
from tests.quirks.seen import seen
from tests.upstream import Raw


@FRAMINGS
@EXPOSURES
@pytest.mark.parametrize("identifier", ["Q007", "Q014"])
async def test_Q007_Q014_a_hidden_call_leaves_no_hole(
    identifier: str, stream: bool, direct: tuple[str, ...]
) -> None:
    told, _, rounds = await play(sse(identifier), stream, direct)

    assert told.calls == [["c1", "geo_find", '{"city":"Oslo"}']]
    assert (told.finishes, told.done, rounds) == (["tool_calls"], 1, 1)


@FRAMINGS
@EXPOSURES
async def test_Q008_a_new_id_on_a_used_index_is_another_call(
    stream: bool, direct: tuple[str, ...]
) -> None:
    told, _, _ = await play(sse("Q008"), stream, direct)

    assert told.calls == [["c1", "ledger_post", '{"n":1}']]
    assert told.finishes == ["tool_calls"]


@FRAMINGS
async def test_Q010_an_empty_id_or_name_is_none(stream: bool) -> None:
    told, searches, _ = await play(sse("Q010"), stream)

    assert searches == [("s1", '{"query":"geo"}')]
    assert told.text == "Done."


@FRAMINGS
@EXPOSURES
async def test_Q010_an_empty_name_behind_a_real_one_does_not_replace_it(
    stream: bool, direct: tuple[str, ...]
) -> None:
    text = sse("Q010").replace(b'"tool_search"', b'"geo_find"').replace(b"query", b"city")

    told, _, _ = await play(text, stream, direct)

    assert told.calls == [["s1", "geo_find", '{"city":"geo"}']]


@FRAMINGS
@EXPOSURES
async def test_Q012_a_name_in_pieces_is_read_whole(stream: bool, direct: tuple[str, ...]) -> None:
    told, searches, _ = await play(sse("Q012"), stream, direct)

    assert told.calls == [["c1", "tool_search_logs", '{"q":"e"}']]
    assert searches == []


@FRAMINGS
async def test_Q012_the_twin_whose_pieces_say_tool_search_is_a_search(stream: bool) -> None:
    told, searches, _ = await play(sse("Q012").replace(b"search_logs", b"search"), stream)

    assert searches == [("c1", '{"q":"e"}')]
    assert (told.text, told.calls) == ("Done.", [])


@FRAMINGS
@EXPOSURES
async def test_Q013_arguments_may_come_before_the_name(
    stream: bool, direct: tuple[str, ...]
) -> None:
    told, _, _ = await play(sse("Q013"), stream, direct)

    assert told.calls == [["c1", "geo_find", '{"city":"Oslo"}']]


@FRAMINGS
async def test_Q013_a_search_whose_name_comes_last_is_a_search(stream: bool) -> None:
    told, searches, _ = await play(sse("Q013").replace(b"geo_find", b"tool_search"), stream)

    assert searches == [("c1", '{"city":"Oslo"}')]
    assert told.text == "Done."


@FRAMINGS
async def test_Q016_null_and_empty_members_say_nothing(stream: bool) -> None:
    told, _, rounds = await play(sse("Q016"), stream)

    assert (told.text, told.calls, told.finishes, rounds) == ("ab", [], ["stop"], 1)


@FRAMINGS
async def test_Q016_a_choice_index_that_counts_chunks_is_one_choice(stream: bool) -> None:
    at = iter(range(3))
    pieces = sse("Q016").split(b'[{"index":0')
    text = pieces[0] + b"".join(b'[{"index":%d' % next(at) + rest for rest in pieces[1:])

    told, _, _ = await play(text, stream)

    assert (told.text, told.finishes) == ("ab", ["stop"])


@FRAMINGS
async def test_Q017_a_call_written_as_text_stays_text(stream: bool) -> None:
    async with start_proxy(Raw(sse("Q017"))) as proxy:
        told = seen(await proxy.post(body(TOOLS, stream=stream)))

    markup = '<tool_call>{"name":"tool_search","arguments":{"query":"geo"}}</tool_call>'
    assert (told.text, told.calls, told.finishes) == (markup, [], ["stop"])
    assert len(proxy.upstream.received) == 1


@FRAMINGS
async def test_Q018_several_choices_are_relayed_both_ways(stream: bool) -> None:
    asked = {**script("Q018"), "tools": numbered(3), "stream": stream}
    choice = reply(search("s1", "geo"))["choices"][0]
    two = dumps(reply("x") | {"choices": [choice, {**choice, "index": 1}]})
    async with start_proxy(Raw(two, content_type="application/json")) as proxy:
        response = await proxy.post(dumps(asked))

    assert proxy.upstream.received[0].body == dumps(asked)
    assert response.content == two
    assert response.headers["x-toolfold-reason"] == "several-choices"


@FRAMINGS
async def test_a_search_whose_arguments_are_an_object_is_answered(stream: bool) -> None:
    """An object is no string, so the client gets its own calls' objects as they came."""
    text = fragments(
        piece(0, "s1", name="tool_search", arguments={"queries": ["geo"]}),
        piece(1, "s2", name="tool_search", arguments=["ledger"]),
    )

    told, searches, _ = await play(text, stream)

    assert searches == [("s1", '{"queries":["geo"]}'), ("s2", '["ledger"]')]
    assert told.text == "Done."


WHOLE = {
    "index 0 for all": [{"index": 0}, {"index": 0}],
    "no type": [{"type": None}, {"type": None}],
    "ids empty": [{"id": ""}, {"id": ""}],
    "ids absent": [{"id": None}, {"id": None}],
    "ids equal": [{"id": "c"}, {"id": "c"}],
}


@pytest.mark.parametrize("changes", WHOLE.values(), ids=WHOLE)
async def test_whole_calls_leave_as_two(changes: list[Json]) -> None:
    calls = [call("c1", "geo_find", {"city": "Oslo"}), call("c2", "geo_find", {"city": "Rome"})]
    sent = [one | change for one, change in zip(calls, changes, strict=True)]
    buffered = dumps(reply(*sent))
    async with start_proxy(Raw(buffered, content_type="application/json")) as proxy:
        response = await proxy.post(body(TOOLS))

    told = response.json()["choices"][0]["message"]["tool_calls"]
    assert [one["function"] for one in told] == [one["function"] for one in calls]
    assert [one["id"] for one in told] == [one["id"] for one in sent]


@pytest.mark.parametrize("changes", WHOLE.values(), ids=WHOLE)
async def test_a_whole_search_is_taken_from_between_whole_calls(changes: list[Json]) -> None:
    calls = [call("c1", "geo_find", {"city": "Oslo"}), call("c2", "geo_find", {"city": "Rome"})]
    sent = [one | change for one, change in zip(calls, changes, strict=True)]
    buffered = dumps(reply(sent[0], search("s1", "geo") | changes[0], sent[1]))
    async with start_proxy(Raw(buffered, content_type="application/json")) as proxy:
        response = await proxy.post(body(TOOLS))

    told = response.json()["choices"][0]["message"]["tool_calls"]
    assert [one["function"] for one in told] == [one["function"] for one in calls]
    assert [one["id"] for one in told] == [one["id"] for one in sent]
    assert len(proxy.upstream.received) == 1
