"""Replies in pieces, and how they are played: the first round of a turn is a stream."""

from typing import Any, NamedTuple

import pytest

from app.core.codec import Json
from tests.builders import body, events, reply
from tests.conftest import start_proxy
from tests.quirks.records import DECLARED, TOOLS
from tests.quirks.seen import Seen, seen
from tests.upstream import Raw

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
EXPOSURES = pytest.mark.parametrize("direct", [DECLARED, ()], ids=["declared", "deferred"])


class Played(NamedTuple):
    """What the client saw, and the search calls that were answered."""

    told: Seen
    searches: list[tuple[str, str]]
    rounds: int


async def play(text: bytes, stream: bool, direct: tuple[str, ...] = DECLARED) -> Played:
    """The stream as the first round; a second one says `Done.`"""
    async with start_proxy(Raw(text), reply("Done."), direct=direct) as proxy:
        response = await proxy.post(body(TOOLS, stream=stream))
        requests = proxy.upstream.requests
    assert response.status_code == 200
    assert b'tool_search"' not in response.content
    asked = [one for message in requests[-1]["messages"] for one in message.get("tool_calls", [])]
    assert {one["function"]["name"] for one in asked} <= {"tool_search"}
    searches = [(one["id"], one["function"]["arguments"]) for one in asked]
    return Played(seen(response), searches, len(requests))


def fragments(*pieces: Json, finish: str = "tool_calls") -> bytes:
    """A stream with one fragment a chunk."""
    deltas: list[Json] = [{"tool_calls": [piece]} for piece in pieces]
    return deltas_as_events({"role": "assistant"}, *deltas, finish=finish)


def deltas_as_events(*deltas: Json, finish: str = "tool_calls") -> bytes:
    frame = {"id": "u1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    said: list[tuple[Json, str | None]] = [(delta, None) for delta in deltas] + [({}, finish)]
    choices = [{"index": 0, "delta": delta, "finish_reason": reason} for delta, reason in said]
    return events(*({**frame, "choices": [choice]} for choice in choices))


def piece(index: int | None = 0, id: str | None = None, **function: Any) -> Json:
    """A fragment; what is None is left out."""
    whole = {"index": index, "id": id, "type": id and "function", "function": function}
    return {key: value for key, value in whole.items() if value is not None}
