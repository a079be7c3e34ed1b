"""What OpenAI refuses about a chat completion request, checked in the order of this file's table.

A rule is a generator over the request that yields what it objects to. The first objection of the
first rule is the reply; later rules may rely on what earlier ones have settled.
"""

import re
from collections.abc import Callable, Iterator
from itertools import chain

from app.core.codec import Json
from app.demo import history, keys
from app.demo.refusal import (
    Refusal,
    empty_array,
    long_array,
    long_string,
    mismatched,
    missing,
    mistyped,
    unknown,
    unsupported,
)

Rule = Callable[[Json], Iterator[Refusal]]

MAX_TOOLS = 128
MAX_DESCRIPTION = 1024
MAX_NAME = 64
NAME_PATTERN = "^[a-zA-Z0-9_-]+$"
CHOICES = ("none", "auto", "required")


def refusal(request: Json, *, max_tools: int | None = MAX_TOOLS) -> Refusal | None:
    """The first thing to refuse about a request, if any. `max_tools` None lifts that limit."""
    rules: tuple[Rule, ...] = (
        _keys,
        _shapes,
        _stream_options,
        _count_of(max_tools),
        _tools,
        _tool_choice,
        _parallel_tool_calls,
        history.messages,
        history.pairs,
    )
    return next(chain.from_iterable(rule(request) for rule in rules), None)


def _keys(request: Json) -> Iterator[Refusal]:
    yield from (unknown(key) for key in request if key not in keys.REQUEST)
    yield from (missing(key) for key in ("model", "messages") if key not in request)


def _shapes(request: Json) -> Iterator[Refusal]:
    for path in ("messages", "tools"):
        entries = request.get(path, [{}])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            yield mistyped(path, expected="an array of objects")
        elif not entries:
            yield empty_array(path)


def _stream_options(request: Json) -> Iterator[Refusal]:
    options = request.get("stream_options")
    if options is None:
        return
    if not request.get("stream"):
        message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        yield Refusal(message, "stream_options")
    yield from (
        unknown(f"stream_options.{key}") for key in options if key not in keys.STREAM_OPTIONS
    )


def _count_of(limit: int | None) -> Rule:
    def count(request: Json) -> Iterator[Refusal]:
        length = len(request.get("tools", ()))
        if limit is not None and length > limit:
            yield long_array("tools", limit=limit, length=length)

    return count


def _tools(request: Json) -> Iterator[Refusal]:
    for at, tool in enumerate(request.get("tools", ())):
        path = f"tools[{at}]"
        yield from (unknown(f"{path}.{key}") for key in tool if key not in keys.TOOL)
        if tool.get("type") != "function":
            yield unsupported(f"{path}.type", tool.get("type"), supported=("function",))
        elif not isinstance(tool.get("function"), dict):
            yield missing(f"{path}.function")
        else:
            yield from _function(tool["function"], f"{path}.function")


def _function(function: Json, path: str) -> Iterator[Refusal]:
    yield from (unknown(f"{path}.{key}") for key in function if key not in keys.FUNCTION)
    yield from _name(function.get("name"), f"{path}.name")
    description = function.get("description", "")
    if not isinstance(description, str):
        yield mistyped(f"{path}.description", expected="a string")
    elif len(description) > MAX_DESCRIPTION:
        length = len(description)
        yield long_string(f"{path}.description", limit=MAX_DESCRIPTION, length=length)
    parameters = function.get("parameters", {})
    if not isinstance(parameters, dict) or parameters.get("type", "object") != "object":
        message = f"Invalid schema for function '{function['name']}': 'type' must be 'object'."
        yield Refusal(message, f"{path}.parameters", "invalid_function_parameters")


def _name(name: object, path: str) -> Iterator[Refusal]:
    if not isinstance(name, str):
        yield missing(path)
    elif not re.fullmatch(NAME_PATTERN, name):
        yield mismatched(path, pattern=NAME_PATTERN)
    elif len(name) > MAX_NAME:
        yield long_string(path, limit=MAX_NAME, length=len(name))


def _tool_choice(request: Json) -> Iterator[Refusal]:
    choice = request.get("tool_choice")
    if choice is None:
        return
    if "tools" not in request:
        yield _needs_tools("tool_choice")
        return
    declared = {tool["function"]["name"] for tool in request["tools"]}
    match choice:
        case str():
            if choice not in CHOICES:
                yield unsupported("tool_choice", choice, supported=CHOICES)
        case {"type": "function", "function": {"name": name}}:
            if name not in declared:
                message = f"no function named '{name}' was specified in the 'tools' parameter."
                yield Refusal(f"Invalid value for 'tool_choice': {message}", "tool_choice")
        case {"type": "allowed_tools", "allowed_tools": {"tools": [*allowed]}}:
            names = (tool.get("function", {}).get("name") for tool in allowed)
            for name in (name for name in names if name not in declared):
                message = f"Tool choice '{name}' not found in 'tools' parameter."
                yield Refusal(message, "tool_choice")
        case _:
            yield Refusal("Invalid value for 'tool_choice'.", "tool_choice", "invalid_value")


def _parallel_tool_calls(request: Json) -> Iterator[Refusal]:
    if request.get("parallel_tool_calls") is not None and "tools" not in request:
        yield _needs_tools("parallel_tool_calls")


def _needs_tools(key: str) -> Refusal:
    message = f"Invalid value for '{key}': '{key}' is only allowed when 'tools' are specified."
    return Refusal(message, key)
