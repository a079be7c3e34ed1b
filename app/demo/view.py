"""What the scripted model sees of a request: the question, the calls answered since, the tools.

A tool counts as seen when it is declared, or when a tool message shows its parameters and a tool
that calls others is declared.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.core.codec import Json

_SEARCH = re.compile(r"(?:^|_)(?:tool|toolfold)_search(?:_\d+)?$")
_WRAPPER = {"name", "arguments"}
"""The parameters by which a tool that calls others is known, whatever its own name is."""


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
    shown: frozenset[str] = frozenset()
    """Tools whose parameters stand in a tool message, of this question or an earlier one."""

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

    @property
    def wrapper(self) -> str | None:
        """The tool that calls others, if one is declared."""
        return _wrapper(self.declared)

    def can_call(self, name: str) -> bool:
        """Whether the model may call this tool, by itself or through the wrapper."""
        return name in self.declared or (self.wrapper is not None and name in self.shown)


def view(request: Json) -> View:
    """Read a request as the model does."""
    messages = request["messages"]
    users = [at for at, message in enumerate(messages) if message["role"] == "user"]
    last = users[-1] if users else 0
    functions = {tool["function"]["name"]: tool["function"] for tool in request.get("tools", ())}
    return View(
        asked=_text(messages[last]),
        answered=tuple(_answered(messages[last:], _wrapper(functions))),
        declared=_declared(request, functions),
        shown=frozenset(_shown(messages)),
    )


def _declared(request: Json, functions: dict[str, Json]) -> dict[str, Json]:
    match request.get("tool_choice"):
        case {"type": "allowed_tools", "allowed_tools": {"tools": allowed}}:
            names = {tool["function"]["name"] for tool in allowed}
            return {name: function for name, function in functions.items() if name in names}
        case _:
            return functions


def _wrapper(functions: dict[str, Json]) -> str | None:
    for name, function in functions.items():
        if function.get("parameters", {}).get("properties", {}).keys() == _WRAPPER:
            return name
    return None


def _shown(messages: Sequence[Json]) -> Iterator[str]:
    for message in messages:
        if message["role"] == "tool":
            tools = _parsed(_text(message)).get("tools")
            for tool in tools if isinstance(tools, list) else ():
                match tool:
                    case {"name": str(name), "parameters": dict()}:
                        yield name


def _answered(messages: Sequence[Json], wrapper: str | None) -> Iterator[Answered]:
    calls: dict[str, Call] = {}
    for message in messages:
        for call in message.get("tool_calls") or ():
            function = call["function"]
            made = Call(function["name"], function["arguments"])
            calls[call["id"]] = _inner(made) if made.name == wrapper else made
        if message["role"] == "tool":
            yield Answered(calls[message["tool_call_id"]], _text(message))


def _inner(call: Call) -> Call:
    """The call that was made through the wrapper."""
    match _parsed(call.arguments):
        case {"name": str(name), "arguments": dict(arguments)}:
            return Call(name, json.dumps(arguments))
        case _:
            return call


def _parsed(text: str) -> Json:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _text(message: Json) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)
