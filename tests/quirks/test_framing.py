"""Server-sent events as servers send them: line ends, cuts, byte-order marks, odd events."""

import asyncio
import json
from collections.abc import Sequence

import pytest

from app.core.codec import Json
from tests.builders import body, call, events, reply, search, streamed
from tests.conftest import start_proxy
from tests.quirks.records import DECLARED, TOOLS, script, sse
from tests.quirks.seen import Seen, seen
from tests.upstream import Raw

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
OSLO = ["c1", "geo_find", '{"city":"Oslo"}']


def delta(finish: str | None = None, **said: object) -> Json:
    choice = {"index": 0, "delta": said, "finish_reason": finish}
    return {"id": "u1", "object": "chat.completion.chunk", "created": 1, "choices": [choice]}


def fragment(identifier: str, name: str, arguments: str) -> Json:
    function = {"name": name, "arguments": arguments}
    return {"index": 0, "id": identifier, "type": "function", "function": function}


SEARCH = fragment("s1", "tool_search", '{"queries":["geo"]}')
SPOKEN = [delta(role="assistant", content="left\u2028\u0085"), delta(content="\U0001f600 end")]
MIXED = [
    *SPOKEN,
    delta(tool_calls=[SEARCH]),
    delta("tool_calls", tool_calls=[{**fragment(*OSLO), "index": 1}]),
]
EVENTS = events(*MIXED)


async def replies(parts: Sequence[Sequence[bytes]], stream: bool) -> list[Seen]:
    """What the client sees of each of these streams, cut into reads as given."""
    async with start_proxy(*(Raw(parts=cut) for cut in parts), direct=DECLARED) as proxy:
        sent = body(TOOLS, stream=stream)
        return [seen(await proxy.post(sent)) for _ in parts]


def cuts(text: bytes, step: int = 1) -> list[list[bytes]]:
    """The text in one, in two at each place, and byte by byte."""
    in_two = [[text[:at], text[at:]] for at in range(1, len(text), step)]
    return [[text], *in_two, [text[at : at + 1] for at in range(len(text))]]


@FRAMINGS
async def test_Q001_unicode_separators_end_no_line(stream: bool) -> None:
    found = await replies(cuts(sse("Q001")), stream)

    assert {one.text for one in found} == {"left\u2028right\u0085end"}
    assert all(one.finishes == ["stop"] and one.done == 1 for one in found)


@FRAMINGS
async def test_Q003_every_line_end_ends_a_line_wherever_the_reads_are_cut(stream: bool) -> None:
    found = await replies(cuts(sse("Q003")), stream)

    assert all(one == Seen({"u1"}, one.roles, "ab", [], ["stop"], done=1) for one in found)


BLANK_LINES = [first + second for first in ("\n", "\r", "\r\n") for second in ("\n", "\r", "\r\n")]
BLANK_LINES.remove("\r\n")  # a carriage return and a line feed are one line end


@FRAMINGS
@pytest.mark.parametrize("blank", BLANK_LINES, ids=[repr(one) for one in BLANK_LINES])
async def test_Q003_each_blank_line_in_each_cut(stream: bool, blank: str) -> None:
    text = EVENTS.replace(b"\n\n", blank.encode())

    found = await replies(cuts(text, step=7), stream)

    expected = "left\u2028\u0085\U0001f600 end"
    assert all((one.text, one.calls, one.done) == (expected, [OSLO], 1) for one in found)


@pytest.mark.parametrize("blank", BLANK_LINES, ids=[repr(one) for one in BLANK_LINES])
async def test_Q003_an_event_leaves_as_soon_as_its_blank_line_is_there(blank: str) -> None:
    gate = asyncio.Event()
    first = events(SPOKEN[0], done=False).replace(b"\n\n", blank.encode())
    rest = events(SPOKEN[1], delta("stop"))
    async with (
        asyncio.timeout(5),
        start_proxy(Raw(parts=[first, rest], gate=gate)) as proxy,
        proxy.client.stream(
            "POST", proxy.url + "/chat/completions", content=body(stream=True)
        ) as response,
    ):
        reads = response.aiter_bytes()
        early = b""
        while b"left" not in early:
            early += await anext(reads)
        gate.set()
        late = b"".join([read async for read in reads])

    assert early.endswith(blank.encode())
    assert late.endswith(b"data: [DONE]\n\n")


@FRAMINGS
async def test_Q006_a_byte_order_mark_costs_no_event(stream: bool) -> None:
    record = script("Q006")
    text = bytes.fromhex(record["upstream_prefix_hex"]) + record["then_sse"].encode()

    found = await replies(cuts(text), stream)

    assert all(one.calls == [["c1", "geo_find", "{}"]] for one in found)
    assert all(one.finishes == ["tool_calls"] and one.done == 1 for one in found)


async def test_Q006_a_byte_order_mark_before_a_search_is_no_obstacle() -> None:
    searching = b"\xef\xbb\xbf" + events(delta("tool_calls", tool_calls=[SEARCH]))
    async with start_proxy(Raw(searching), reply("Done.")) as proxy:
        told = seen(await proxy.post(body(TOOLS, stream=True)))

    assert told.text == "Done."
    assert len(proxy.upstream.received) == 2


@FRAMINGS
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
async def test_a_stream_of_any_line_end_is_read_at_every_cut(stream: bool, end: str) -> None:
    text = b": hello\n\nevent: message\nid: 1\n" + EVENTS.replace(b"data: ", b"data:")
    text = text.replace(b"\n", end.encode())

    found = await replies(cuts(text, step=3), stream)

    assert {one.text for one in found} == {"left\u2028\u0085\U0001f600 end"}
    assert all((one.calls, one.finishes) == ([OSLO], ["tool_calls"]) for one in found)


SPELLINGS = {
    "no space": EVENTS.replace(b"data: ", b"data:"),
    "other fields": EVENTS.replace(b"data: ", b"event: message\nid: 7\nretry: 10\ndata: "),
    "fields behind": EVENTS.replace(b"\n\n", b"\nid: 7\n\n"),
    "comments": EVENTS.replace(b"data: ", b": PROCESSING\n\n: more\ndata: "),
    "comment first": b":\n\n" + EVENTS,
    "blank lines": b"\n\n\n" + EVENTS.replace(b"\n\n", b"\n\n\n\n"),
    "data in lines": EVENTS.replace(b'"choices"', b'\ndata: "choices"'),
    "spaces behind": EVENTS.replace(b"\n\n", b"  \n\n"),
    "no blank line at the end": EVENTS[:-2],
    "half a blank line at the end": EVENTS[:-1],
    "no [DONE]": events(*MIXED, done=False),
    "[DONE] twice": EVENTS + b"data: [DONE]\n\n",
    "a comment behind [DONE]": EVENTS + b": bye\n\n",
}


@FRAMINGS
@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS)
async def test_every_spelling_of_the_events_says_the_same(stream: bool, text: bytes) -> None:
    found = await replies(cuts(text, step=11), stream)

    assert {one.text for one in found} == {"left\u2028\u0085\U0001f600 end"}
    assert all(one.calls == [OSLO] and one.finishes == ["tool_calls"] for one in found)
    assert all(one.done == 1 for one in found)


ODD = [
    *(b"1", b"[]", b"null", b'"x"', b"{}", b"{", b"NaN", b"\xff", b'{"choices":null}'),
    *(b'{"choices":[]}', b'{"choices":[null]}', b'{"choices":[{}]}', b'{"choices":{}}'),
    *(b'{"choices":[{"index":0,"delta":null}]}', b'{"choices":[{"index":0,"delta":[]}]}'),
    b'{"choices":[{"index":0,"delta":{"tool_calls":{}}}]}',
    b'{"choices":[{"index":0,"delta":{"tool_calls":[null]}}]}',
    b'{"choices":[{"index":0,"delta":{"tool_calls":[]}}]}',
    b'{"choices":[{"index":0,"delta":{"content":null}}],"usage":null}',
    b'{"choices":[{"index":0,"delta":{"content":7}}],"usage":[]}',
    b'{"id":null,"created":"x","choices":[{"finish_reason":0,"delta":{}}]}',
]


@FRAMINGS
@pytest.mark.parametrize("odd", ODD, ids=[one.decode("latin-1") for one in ODD])
async def test_an_odd_event_in_a_hidden_round_ends_nothing(stream: bool, odd: bytes) -> None:
    event = b"data: " + odd + b"\n\n"
    searching = event + events(delta("tool_calls", tool_calls=[SEARCH]), done=False) + event
    async with start_proxy(Raw(searching), reply("Done.", call(*OSLO))) as proxy:
        response = await proxy.post(body(TOOLS, stream=stream))

    assert response.status_code == 200
    assert len(proxy.upstream.received) == 2
    assert b"Done." in response.content or b'"Don"' in response.content
    assert b"tool_search" not in response.content


@pytest.mark.parametrize("odd", ODD, ids=[one.decode("latin-1") for one in ODD])
async def test_an_odd_event_between_words_is_passed_on_or_left_out(odd: bytes) -> None:
    event = b"data: " + odd + b"\n\n"
    first, second = events(*SPOKEN, delta("stop")).split(b"\n\n", 1)
    async with start_proxy(Raw(event + first + b"\n\n" + event + second)) as proxy:
        response = await proxy.post(body(stream=True))

    assert response.status_code == 200
    assert response.content.replace(event, b"") == events(*SPOKEN[:1], done=False) + second


async def test_a_reply_that_needs_no_change_is_told_in_its_own_bytes() -> None:
    said = events(*streamed(reply("Hello there.", call("c1", "get_weather", {"city": "Oslo"}))))
    text = said.replace(b"data: ", b"event: x\ndata:").replace(b", ", b",  ")
    async with start_proxy(Raw(text), direct=("get_weather",)) as proxy:
        response = await proxy.post(body(stream=True))

    assert response.content == text.replace(b"event: x\ndata:[DONE]", b"data: [DONE]")
    assert json.loads(text.split(b"data:")[1].split(b"\n")[0])["id"] == "chatcmpl-1"


async def test_what_was_searched_for_is_the_same_in_every_cut() -> None:
    text = events(*streamed(reply("Let me see.", search("s1", "créer", "\U0001f600"))))
    script = [part for cut in cuts(text, step=17) for part in (Raw(parts=cut), reply("Done."))]
    async with start_proxy(*script) as proxy:
        told = [seen(await proxy.post(body(stream=True))) for _ in script[::2]]

    assert {one.text for one in told} == {"Let me see.Done."}
    assert len({received.body for received in proxy.upstream.received[1::2]}) == 1
