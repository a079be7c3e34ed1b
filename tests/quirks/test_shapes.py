"""Replies of shapes that no server should send: whatever comes is no fault of ours."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from app.core.codec import Json
from tests.builders import body, call, dumps, events, reply, search, streamed
from tests.conftest import start_proxy
from tests.quirks.pieces import FRAMINGS, fragments, piece
from tests.quirks.seen import seen
from tests.upstream import Raw, Scripted

SEARCH = reply(search("s1", "weather"))
WEATHER = {"name": "get_weather", "arguments": '{"city":"Oslo"}'}
LATE = 60.0
"""Seconds within which what takes milliseconds is over on any machine, and what takes the
square of its length is not."""


def said(completion: Json, stream: bool) -> Raw:
    """A completion in the framing asked for, its oddities included."""
    if stream:
        return Raw(events(*streamed(completion)))
    return Raw(dumps(completion), content_type="application/json")


@FRAMINGS
@pytest.mark.parametrize("index", ["0", "x", -1, 1.5, 10**30, True, [], {}, [1]], ids=repr)
async def test_an_index_that_is_no_number_numbers_nothing(index: Any, stream: bool) -> None:
    text = fragments(piece(index, "c1", **WEATHER))
    async with start_proxy(Raw(text)) as proxy:
        response = await proxy.post(body(stream=stream))

    assert response.status_code == 200
    assert seen(response).calls == [["c1", "get_weather", '{"city":"Oslo"}']]


@FRAMINGS
@pytest.mark.parametrize(
    "usage", ["x", 7, [], [1], {"total_tokens": "x"}, {"total_tokens": {"a": [1]}}], ids=repr
)
async def test_a_usage_that_cannot_be_added_loses_no_reply(usage: Any, stream: bool) -> None:
    first, second = said(SEARCH | {"usage": usage}, stream), said(reply("Done."), stream)
    async with start_proxy(first, second) as proxy:
        sent = body(stream=stream, stream_options={"include_usage": True})
        response = await proxy.post(sent)

    assert response.status_code == 200
    assert seen(response).text == "Done."


DEPTHS = [100, 400, 900, 50_000]


def deep(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@FRAMINGS
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("rounds", [1, 2], ids=["first", "hidden"])
async def test_a_reply_that_is_nested_deep_is_told_or_a_bad_gateway(
    rounds: int, depth: int, stream: bool
) -> None:
    """A member that grows: the rounds' chunks are put together, so depth is walked."""
    done = dumps(reply("Done.")).replace(b'"content"', b'"details": %b, "content"' % deep(depth))
    odd = Raw(done, content_type="application/json")
    script: list[Scripted] = [SEARCH, odd] if rounds == 2 else [odd]
    async with start_proxy(*script) as proxy:
        response = await proxy.post(body(stream=stream))

    assert response.status_code in (200, 502)
    assert response.status_code == 200 or response.json()["error"]["code"] == "upstream_error"


@FRAMINGS
@pytest.mark.parametrize("depth", DEPTHS)
async def test_a_search_beside_something_nested_deep_is_answered_or_a_bad_gateway(
    depth: int, stream: bool
) -> None:
    odd = dumps(SEARCH).replace(b'"content"', b'"details": %b, "content"' % deep(depth))
    script: list[Scripted] = [Raw(odd, content_type="application/json"), reply("Done.")]
    async with start_proxy(*script) as proxy:
        response = await proxy.post(body(stream=stream))

    assert response.status_code in (200, 502)
    assert response.status_code == 200 or response.json()["error"]["code"] == "upstream_error"


ARGUMENTS = {
    "deep": '{"city":' + "[" * 900 + "]" * 900 + "}",
    "deeper": '{"city":' + "[" * 100_000 + "]" * 100_000 + "}",
    "many digits": '{"city":' + "9" * 5_000 + "}",
    "infinite": '{"city":1e999999999}',
    "NaN": '{"city":NaN}',
    "surrogate": '{"city":"\\ud800"}',
    "a list": '["Oslo"]',
    "nothing": "",
    "cut off": '{"city":"Os',
}


@FRAMINGS
@pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS)
async def test_any_arguments_of_a_deferred_tool_leave_at_last(arguments: str, stream: bool) -> None:
    """Played again once where they do not fit, then the client's to judge, unchanged."""
    whole = events(*streamed(reply(call("c1", "get_weather", arguments)), 50_000))
    async with start_proxy(Raw(whole)) as proxy:
        told = seen(await proxy.post(body(stream=stream)))

    assert told.calls == [["c1", "get_weather", arguments]]
    assert len(proxy.upstream.received) <= 2


LONG: dict[str, Callable[[int], str]] = {
    "one letter": lambda size: "n" * size,
    "words": lambda size: "get_weather_" * (size // 12),
    "capitals": lambda size: "getWeather" * (size // 10),
    "dots": lambda size: "." * size,
    "separators": lambda size: "_" * size,
    "digits": lambda size: "1a" * (size // 2),
    "line ends": lambda size: "a\n" * (size // 2),
}


@FRAMINGS
@pytest.mark.parametrize("name", LONG.values(), ids=LONG)
async def test_a_name_without_end_holds_nobody_up(name: Callable[[int], str], stream: bool) -> None:
    """A model that repeats itself writes such names; all of the proxy shares one loop."""
    message = reply(call("x1", name(5_000)))["choices"][0]["message"]
    whole = {"index": 0, **message["tool_calls"][0]}
    choice = {"index": 0, "delta": {"tool_calls": [whole]}, "finish_reason": "tool_calls"}
    async with start_proxy(Raw(events({"id": "u", "choices": [choice]})), reply("Ok.")) as proxy:
        await proxy.post(body())
        async with asyncio.timeout(LATE):
            response = await proxy.post(body(stream=stream))

    assert response.status_code == 200


@FRAMINGS
async def test_a_search_without_end_holds_nobody_up(stream: bool) -> None:
    queries = [LONG[name](5_000) for name in LONG]
    async with start_proxy(reply(search("s1", *queries)), reply("Done.")) as proxy:
        async with asyncio.timeout(LATE):
            response = await proxy.post(body(stream=stream))

    assert seen(response).text == "Done."


@pytest.mark.parametrize(
    "kind", ["Text/Event-Stream", "TEXT/EVENT-STREAM; charset=utf-8", " text/event-stream "]
)
async def test_a_media_type_is_the_same_in_capitals(kind: str) -> None:
    """https://www.rfc-editor.org/rfc/rfc9110#section-8.3.1"""
    parts = [events(*streamed(reply("Hi"))), b": bye\n\n"]
    async with start_proxy(Raw(parts=parts, content_type=kind)) as proxy:
        response = await proxy.post(body(stream=True))

    assert response.status_code == 200
    assert seen(response).text == "Hi"
