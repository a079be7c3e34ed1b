"""The replies in `data/live`: what five real servers said."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from app.core.codec import Json
from tests.builders import FILLER, tool
from tests.upstream import Raw

_PATH = Path(__file__).parent.parent / "data" / "live" / "replies.jsonl"


class Recorded(NamedTuple):
    """One reply, as it came."""

    server: str
    name: str
    raw: Raw

    @property
    def is_stream(self) -> bool:
        return "event-stream" in self.raw.content_type

    @property
    def id(self) -> str:
        return f"{self.server}-{self.name}"


def _read(line: str) -> Recorded:
    one = json.loads(line)
    raw = Raw(one["body"].encode(), one["status"], one["content_type"])
    return Recorded(one["server"], one["name"], raw)


ALL = [_read(line) for line in _PATH.read_text().splitlines()]
TAKEN = [one for one in ALL if one.raw.status == 200]
REFUSED = [one for one in ALL if one.raw.status != 200]


def reply_of(server: str, name: str, *, stream: bool) -> Raw:
    """A server's reply in one framing."""
    wanted = f"{name}.stream" if stream else name
    return next(one.raw for one in ALL if (one.server, one.name) == (server, wanted))


def objects(one: Recorded) -> list[Any]:
    """What it says, as JSON: one completion or the chunks of a stream."""
    text = one.raw.body.decode()
    if not one.is_stream:
        return [json.loads(text)]
    lines = (line.removeprefix("data: ") for line in text.split("\n") if line.startswith("data: {"))
    return [json.loads(line) for line in lines]


WEATHER = tool("get_weather", "Current weather in a city.", city="string", unit="string?")
CALC = tool("calc_add", "Adds two numbers.", a="integer", b="integer")
PING = tool("ping", "Pings.")
TOOLS: list[Json] = [WEATHER, CALC, PING, *FILLER]
