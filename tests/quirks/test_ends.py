"""How replies end: what the finish reason says, how often, and what comes behind it."""

from typing import Any

import pytest

from app.core.codec import Json
from tests.builders import body, call, dumps, events, reply, search, streamed
from tests.conftest import start_proxy
from tests.quirks.records import DECLARED, TOOLS, script, sse
from tests.quirks.seen import Seen, seen
from tests.upstream import Raw, Scripted

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
EXPOSURES = pytest.mark.parametrize("direct", [DECLARED, ()], ids=["declared", "deferred"])
OSLO = ["c1", "geo_find", '{"city": "Oslo"}']
USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}


async def play(
    *replies: Scripted, stream: bool, direct: tuple[str, ...] = DECLARED, **members: Any
) -> tuple[Seen, int]:
    """What the client saw, and how many rounds it took."""
    async with start_proxy(*replies, direct=direct) as proxy:
        response = await proxy.post(body(TOOLS, stream=stream, **members))
    assert response.status_code == 200
    return seen(response), len(proxy.upstream.received)


def chunk(finish: str | None = None, usage: Json | None = None, **delta: Any) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    frame = {"id": "u1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**frame, "choices": [choice], "usage": usage}


def calling(*calls: Json) -> Json:
    return {"tool_calls": [{"index": at, **one} for at, one in enumerate(calls)]}


GEO = calling(call("c1", "geo_find", {"city": "Oslo"}))
NOW: Json = {"tool_calls": [{"index": 1, **call("c2", "weather_now", {})}]}
SEARCH = calling(search("s1", "geo"))


@FRAMINGS
async def test_Q019_a_search_that_finishes_with_stop_is_answered(stream: bool) -> None:
    told, rounds = await play(Raw(sse("Q019")), reply("Done."), stream=stream)

    assert (told.text, told.calls, told.finishes, rounds) == ("Done.", [], ["stop"], 2)


@FRAMINGS
@EXPOSURES
async def test_Q019_a_call_that_finishes_with_stop_keeps_its_finish_reason(
    stream: bool, direct: tuple[str, ...]
) -> None:
    said = reply(call("c1", "geo_find", {"city": "Oslo"}), finish="stop")

    told, rounds = await play(said, stream=stream, direct=direct)

    assert (told.calls, told.finishes, rounds) == ([OSLO], ["stop"], 1)


@FRAMINGS
@pytest.mark.parametrize("none", [[], None], ids=["empty", "null"])
async def test_Q020_calls_announced_but_not_made_are_no_search(stream: bool, none: Any) -> None:
    said = script("Q020")
    said["choices"][0]["message"]["tool_calls"] = none
    async with start_proxy(Raw(dumps(said), content_type="application/json")) as proxy:
        response = await proxy.post(body(TOOLS, stream=stream))

    told = seen(response)
    assert (told.text, told.calls, told.finishes) == ("One moment", [], ["tool_calls"])
    assert stream or response.content == dumps(said)
    assert len(proxy.upstream.received) == 1


@FRAMINGS
@EXPOSURES
async def test_Q021_two_rounds_have_one_finish_reason(
    stream: bool, direct: tuple[str, ...]
) -> None:
    rounds = [Raw(text.encode()) for text in script("Q021")["upstream_turns"]]

    told, _ = await play(*rounds, stream=stream, direct=direct)

    assert (told.text, told.calls) == ("Looking. ", [["c1", "geo_find", "{}"]])
    assert (told.finishes, told.done, told.ids) == (["tool_calls"], 1, {"u1"})


@FRAMINGS
@EXPOSURES
@pytest.mark.parametrize("trailing", ["stop", "tool_calls", ""])
async def test_Q021_the_first_of_two_finish_reasons_counts(
    trailing: str, stream: bool, direct: tuple[str, ...]
) -> None:
    said = Raw(events(chunk(**GEO), chunk("tool_calls"), chunk(trailing)))

    told, _ = await play(said, stream=stream, direct=direct)

    assert (told.calls, told.finishes, told.done) == ([OSLO], ["tool_calls"], 1)


@FRAMINGS
async def test_Q021_a_search_with_two_finish_reasons_is_answered_once(stream: bool) -> None:
    said = Raw(events(chunk(**SEARCH), chunk("tool_calls"), chunk("stop")))

    told, rounds = await play(said, reply("Done."), stream=stream)

    assert (told.text, told.finishes, rounds) == ("Done.", ["stop"], 2)


@FRAMINGS
@EXPOSURES
@pytest.mark.parametrize("calls", [True, False], ids=["calls", "words"])
async def test_Q021_a_missing_finish_reason_is_added(
    calls: bool, stream: bool, direct: tuple[str, ...]
) -> None:
    said = Raw(events(chunk(content="Hi"), chunk(**(GEO if calls else {}))))

    told, _ = await play(said, stream=stream, direct=direct)

    assert told.calls == ([OSLO] if calls else [])
    assert (told.finishes, told.done) == (["tool_calls" if calls else "stop"], 1)


@FRAMINGS
@EXPOSURES
async def test_a_call_behind_a_finish_reason_is_not_lost(
    stream: bool, direct: tuple[str, ...]
) -> None:
    """Some servers say a finish reason with every call."""
    said = Raw(events(chunk("tool_calls", **GEO), chunk("tool_calls", **NOW)))

    told, _ = await play(said, stream=stream, direct=direct)

    assert told.calls == [OSLO, ["c2", "weather_now", "{}"]]
    assert told.finishes == ["tool_calls"]


@FRAMINGS
@EXPOSURES
@pytest.mark.parametrize("reason", ["tool_calls", "stop"])
async def test_a_call_behind_a_search_and_its_finish_reason_is_not_lost(
    reason: str, stream: bool, direct: tuple[str, ...]
) -> None:
    said = Raw(events(chunk(reason, **SEARCH), chunk(reason, **NOW)))

    told, rounds = await play(said, reply("Done."), stream=stream, direct=direct)

    assert (told.calls, rounds) == ([["c2", "weather_now", "{}"]], 1)


@FRAMINGS
async def test_a_search_behind_words_and_their_finish_reason_is_answered(stream: bool) -> None:
    said = Raw(events(chunk("stop", content="Let me see. "), chunk("stop", **SEARCH)))

    told, rounds = await play(said, reply("Done."), stream=stream)

    assert (told.text, told.finishes, rounds) == ("Let me see. Done.", ["stop"], 2)


ENDS = {
    "no [DONE]": events(chunk(**GEO), chunk("tool_calls"), done=False),
    "finish with the call": events(chunk("tool_calls", **GEO)),
    "finish with the call, no [DONE]": events(chunk("tool_calls", **GEO), done=False),
    "finish without a delta": events(
        chunk(**GEO), chunk() | {"choices": [{"index": 0, "finish_reason": "tool_calls"}]}
    ),
    "null delta": events(
        chunk(**GEO),
        chunk() | {"choices": [{"index": 0, "delta": None, "finish_reason": "tool_calls"}]},
    ),
    "usage in its own chunk": events(
        chunk(**GEO), chunk("tool_calls"), chunk(usage=USAGE) | {"choices": []}
    ),
    "usage behind [DONE]": events(chunk(**GEO), chunk("tool_calls"))
    + events(chunk(usage=USAGE) | {"choices": []}, done=False),
    "an event behind the finish reason": events(
        chunk(**GEO),
        chunk("tool_calls"),
        {"object": "metrics", "cost": 1, "choices": []} | {"id": "u1"},
    ),
}


@EXPOSURES
@FRAMINGS
@pytest.mark.parametrize("text", ENDS.values(), ids=ENDS)
async def test_every_end_is_one_end(text: bytes, stream: bool, direct: tuple[str, ...]) -> None:
    told, rounds = await play(Raw(text), stream=stream, direct=direct)

    assert (told.calls, told.finishes, told.done, rounds) == ([OSLO], ["tool_calls"], 1, 1)


@FRAMINGS
@pytest.mark.parametrize("text", ENDS.values(), ids=ENDS)
async def test_every_end_of_a_search_goes_on(text: bytes, stream: bool) -> None:
    searching = text.replace(b"geo_find", b"tool_search")

    told, rounds = await play(Raw(searching), reply("Done."), stream=stream)

    assert (told.text, told.calls, told.finishes, rounds) == ("Done.", [], ["stop"], 2)


@FRAMINGS
async def test_usage_in_every_chunk_is_counted_once_a_round(stream: bool) -> None:
    growing = [{**USAGE, "completion_tokens": n, "total_tokens": 5 + n} for n in (0, 1, 2)]
    first = events(
        chunk(usage=growing[0], role="assistant"),
        chunk(usage=growing[1], **SEARCH),
        chunk("tool_calls", usage=growing[2]),
    )
    second = events(
        chunk(usage=growing[0], role="assistant"),
        chunk(usage=growing[1], content="Done."),
        chunk("stop", usage=growing[2]),
    )

    told, _ = await play(
        Raw(first), Raw(second), stream=stream, stream_options={"include_usage": True}
    )

    assert told.usage[-1] == {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}
    assert told.text == "Done."


@FRAMINGS
@pytest.mark.parametrize("options", [None, {"include_usage": True}, {"x": 1}])
async def test_Q023_stream_options_are_the_clients_own(stream: bool, options: Any) -> None:
    """DESIGN: usage is sent only where the client would have got it, so none is asked for."""
    members = {} if options is None else {"stream_options": options}
    script = [reply(search("s1", "geo")), reply("Done.", n=2)]
    async with start_proxy(*script) as proxy:
        response = await proxy.post(body(TOOLS, stream=stream, **members))

    assert [one.get("stream_options") for one in proxy.upstream.requests] == [options, options]
    asked = not stream or options == {"include_usage": True}
    assert [one["total_tokens"] for one in seen(response).usage] == ([33] if asked else [])


async def test_Q023_a_refusal_of_stream_options_is_the_clients_to_see() -> None:
    refusal = dumps(script("Q023")["upstream_reply"]["body"])
    async with start_proxy(Raw(refusal, 400, "application/json")) as proxy:
        sent = body(TOOLS, stream=True, stream_options={"include_usage": True})
        response = await proxy.post(sent)

    assert (response.status_code, response.content) == (400, refusal)


async def test_a_stream_to_a_client_that_asked_for_none_is_a_whole_completion() -> None:
    text = events(*list(streamed(reply("Hi", call("c1", "geo_find", {})))))
    async with start_proxy(Raw(text)) as proxy:
        response = await proxy.post(body(TOOLS))

    assert response.headers["content-type"] == "application/json"
    assert response.json() == reply("Hi", call("c1", "geo_find", {}))


async def test_a_completion_to_a_client_that_asked_for_a_stream_is_a_stream() -> None:
    said = dumps(reply("Hi", call("c1", "geo_find", {})))
    async with start_proxy(Raw(said, content_type="application/json")) as proxy:
        response = await proxy.post(body(TOOLS, stream=True))

    told = seen(response)
    assert response.headers["content-type"].startswith("text/event-stream")
    assert (told.text, told.calls) == ("Hi", [["c1", "geo_find", "{}"]])
    assert (told.finishes, told.done) == (["tool_calls"], 1)
