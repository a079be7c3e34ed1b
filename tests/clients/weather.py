"""What each framework is asked, the upstream's scripts for it, and what may have reached it."""

from typing import Any

import pytest
from pydantic import BaseModel

from app.core.codec import Json
from tests.builders import CATALOG, call, reply, search
from tests.conftest import Proxy
from tests.scripts import WEATHER_CALL, WRAPPED_CALL

ASKED = "How warm is it in Oslo?"
WORDS = "Four degrees."
FUNCTIONS: list[Json] = [tool["function"] for tool in CATALOG]
STRATEGIES = {"promote": WEATHER_CALL, "wrap": WRAPPED_CALL}
each_strategy = pytest.mark.parametrize("strategy", STRATEGIES)
each_framing = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])


class Answer(BaseModel):
    """How warm it is."""

    city: str
    degrees: int


class Desk:
    """Runs the tools, and remembers which."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, Json]] = []

    def run(self, name: str, arguments: Json) -> str:
        self.ran.append((name, arguments))
        return "4"


def spoken(strategy: str) -> list[Any]:
    """A search, the call of what was found, and words."""
    return [
        reply(search("s1", "weather")),
        reply(STRATEGIES[strategy], n=2),
        reply(WORDS, n=3),
    ]


def structured(strategy: str, output: str) -> list[Any]:
    """A search, the call of what was found, and the answer as a call of the output tool."""
    answer = call("c2", output, {"city": "Oslo", "degrees": 4})
    return [*spoken(strategy)[:2], reply(answer, n=3)]


def check(proxy: Proxy, desk: Desk, strategy: str, *outputs: str) -> None:
    """The framework ran one tool, the one that was called. The upstream got three requests:
    Toolfold's tools and the framework's output tools; a found tool too, once it is promoted."""
    assert desk.ran == [("get_weather", {"city": "Oslo"})]
    first, second, third = (set(one.tools) for one in proxy.upstream.received)
    own = {"tool_search"} if strategy == "promote" else {"tool_search", "call_tool"}
    assert first == own | set(outputs)
    assert second == third == first | ({"get_weather"} if strategy == "promote" else set())
    told = [
        message for message in proxy.upstream.requests[2]["messages"] if message["role"] == "tool"
    ]
    assert told[-1]["content"] == "4"
