"""What the scripted model sees of a request: the question, the calls answered since, the tools."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.core.codec import Json

_SEARCH = re.compile(r"(?:^|_)(?:tool|toolfold)_search(?:_\d+)?$")


@dataclass(frozen=True)
class Call:
    """One tool call, its arguments as the JSON text a model writes."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Answered:
    """A call that has been answered."""

    call: Call
    output: str


@dataclass(frozen=True)
class View:
    """What the model sees of a request."""

    asked: str
    answered: tuple[Answered, ...]
    """The calls since the user spoke last, each with its result."""
    declared: dict[str, Json]

    @property
    def searches(self) -> list[Answered]:
        """The calls of the search tool."""
        return [one for one in self.answered if _SEARCH.search(one.call.name)]

    @property
    def results(self) -> list[Answered]:
        """The calls of the app's tools."""
        return [one for one in self.answered if not _SEARCH.search(one.call.name)]

    @property
    def search(self) -> str | None:
        """The tool that finds tools, if one is declared."""
        return next(filter(_SEARCH.search, self.declared), None)


def view(request: Json) -> View:
    """Read a request as the model does."""
    messages = request["messages"]
    users = [at for at, message in enumerate(messages) if message["role"] == "user"]
    last = users[-1] if users else 0
    return View(
        asked=_text(messages[last]),
        answered=tuple(_answered(messages[last:])),
        declared=_declared(request),
    )


def _declared(request: Json) -> dict[str, Json]:
    functions = {tool["function"]["name"]: tool["function"] for tool in request.get("tools", ())}
    match request.get("tool_choice"):
        case {"type": "allowed_tools", "allowed_tools": {"tools": allowed}}:
            names = {tool["function"]["name"] for tool in allowed}
            return {name: function for name, function in functions.items() if name in names}
        case _:
            return functions


def _answered(messages: Sequence[Json]) -> Iterator[Answered]:
    calls: dict[str, Call] = {}
    for message in messages:
        for call in message.get("tool_calls") or ():
            function = call["function"]
            calls[call["id"]] = Call(function["name"], function["arguments"])
        if message["role"] == "tool":
            yield Answered(calls[message["tool_call_id"]], _text(message))


def _text(message: Json) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)
