"""What the embedded upstream refuses, as OpenAI does, and what it lets pass."""

import pytest

from app.demo.rules import refusal

from .builders import Json, allowed, answered, called, named, request, tool, user

CALL = ("c1", "look", "{}")
CHANGED = {"type": "function", "function": {"name": "look"}, "defer_loading": True}
UNKNOWN = "unknown_parameter"
LONG = "string_above_max_length"

REFUSALS = {
    "unknown top-level key": (request(temprature=1), "temprature", UNKNOWN),
    "no messages": ({"model": "m"}, "messages", "missing_required_parameter"),
    "no model": ({"messages": [user("Hi")]}, "model", "missing_required_parameter"),
    "messages of another type": (request(messages="Hi"), "messages", "invalid_type"),
    "empty messages": (request(messages=[]), "messages", "empty_array"),
    "tools of another type": (request(tools=["look"]), "tools", "invalid_type"),
    "empty tools": (request(tools=[]), "tools", "empty_array"),
    "129 tools": (request(tools=[tool()] * 129), "tools", "array_above_max_length"),
    "unknown tool key": (request(tools=[CHANGED]), "tools[0].defer_loading", UNKNOWN),
    "unknown function key": (
        request(tools=[tool(defer_loading=True)]),
        "tools[0].function.defer_loading",
        UNKNOWN,
    ),
    "tool of another kind": (
        request(tools=[{"type": "tool_search"}]),
        "tools[0].type",
        "invalid_value",
    ),
    "tool without its function": (
        request(tools=[{"type": "function"}]),
        "tools[0].function",
        "missing_required_parameter",
    ),
    "name missing": (
        request(tools=[tool(name=None)]),
        "tools[0].function.name",
        "missing_required_parameter",
    ),
    "name with a dot": (
        request(tools=[tool(), tool("look.up")]),
        "tools[1].function.name",
        "invalid_value",
    ),
    "name that ends in a line break": (
        request(tools=[tool("look\n")]),
        "tools[0].function.name",
        "invalid_value",
    ),
    "empty name": (request(tools=[tool("")]), "tools[0].function.name", "invalid_value"),
    "name of 65 characters": (request(tools=[tool("a" * 65)]), "tools[0].function.name", LONG),
    "description of 1,025 characters": (
        request(tools=[tool(description="d" * 1025)]),
        "tools[0].function.description",
        LONG,
    ),
    "description of another type": (
        request(tools=[tool(description=5)]),
        "tools[0].function.description",
        "invalid_type",
    ),
    "parameters that are no object": (
        request(tools=[tool(parameters={"type": "string"})]),
        "tools[0].function.parameters",
        "invalid_function_parameters",
    ),
    "tool_choice without tools": (request(tool_choice="auto"), "tool_choice", None),
    "tool_choice of an undeclared tool": (
        request(tools=[tool()], tool_choice=named("seek")),
        "tool_choice",
        None,
    ),
    "tool_choice that allows an undeclared tool": (
        request(tools=[tool()], tool_choice=allowed("look", "seek")),
        "tool_choice",
        None,
    ),
    "tool_choice in an unknown word": (
        request(tools=[tool()], tool_choice="any"),
        "tool_choice",
        "invalid_value",
    ),
    "tool_choice in an unknown shape": (
        request(tools=[tool()], tool_choice={"name": "look"}),
        "tool_choice",
        "invalid_value",
    ),
    "parallel_tool_calls without tools": (
        request(parallel_tool_calls=False),
        "parallel_tool_calls",
        None,
    ),
    "stream_options without stream": (
        request(stream_options={"include_usage": True}),
        "stream_options",
        None,
    ),
    "unknown stream option": (
        request(stream=True, stream_options={"usage": True}),
        "stream_options.usage",
        UNKNOWN,
    ),
    "unknown role": (
        request({"role": "bot", "content": "Hi"}),
        "messages[0].role",
        "invalid_value",
    ),
    "unknown message key": (
        request(user("Hi"), {"role": "assistant", "content": "Ho", "reasoning_content": "Hm"}),
        "messages[1].reasoning_content",
        UNKNOWN,
    ),
    "null content without calls": (
        request({"role": "assistant", "content": None}),
        "messages.[0].content",
        None,
    ),
    "empty tool_calls": (
        request({"role": "assistant", "content": "Ho", "tool_calls": []}),
        "messages[0].tool_calls",
        "empty_array",
    ),
    "unknown call key": (
        request(called(CALL, tool_calls=[called(CALL)["tool_calls"][0] | {"index": 0}])),
        "messages[0].tool_calls[0].index",
        UNKNOWN,
    ),
    "call without an id": (
        request(called(tool_calls=[{"type": "function", "function": {"name": "look"}}])),
        "messages[0].tool_calls[0].id",
        "missing_required_parameter",
    ),
    "call id of 41 characters": (
        request(called(("c" * 41, "look", "{}"))),
        "messages[0].tool_calls[0].id",
        LONG,
    ),
    "arguments that are no string": (
        request(called(("c1", "look", None))),  # type: ignore[arg-type]
        "messages[0].tool_calls[0].function.arguments",
        "invalid_type",
    ),
    "answer to no call": (request(user("Hi"), answered("c1", "x")), "messages.[1].role", None),
    "answer to another call": (
        request(called(CALL), answered("c2", "x")),
        "messages.[1].role",
        None,
    ),
    "second answer to a call": (
        request(called(CALL), answered("c1", "x"), answered("c1", "x")),
        "messages.[2].role",
        None,
    ),
    "call answered too late": (
        request(called(CALL), user("Well?"), answered("c1", "x")),
        "messages.[1].role",
        None,
    ),
    "call never answered": (request(user("Hi"), called(CALL)), "messages.[2].role", None),
    "one call of two answered": (
        request(called(CALL, ("c2", "look", "{}")), answered("c1", "x")),
        "messages.[2].role",
        None,
    ),
}

ADMITTED = {
    "a greeting": request(),
    "128 tools": request(tools=[tool()] * 128),
    "a name of 64 characters": request(tools=[tool("a" * 64)]),
    "a description of 1,024 characters": request(tools=[tool(description="d" * 1024)]),
    "a tool without parameters": request(tools=[tool(parameters={})]),
    "a named tool": request(tools=[tool()], tool_choice=named("look")),
    "an allowed tool": request(tools=[tool()], tool_choice=allowed("look")),
    "stream options of a stream": request(stream=True, stream_options={"include_usage": True}),
    "a call id of 40 characters": request(
        called(("c" * 40, "look", "{}")), answered("c" * 40, "x")
    ),
    "two calls answered in any order": request(
        called(CALL, ("c2", "look", "{}")), answered("c2", "x"), answered("c1", "x")
    ),
    "history of a tool that is gone": request(called(CALL), answered("c1", "x")),
}


@pytest.mark.parametrize(("asked", "param", "code"), REFUSALS.values(), ids=REFUSALS)
def test_is_refused(asked: Json, param: str, code: str | None) -> None:
    refused = refusal(asked)
    assert refused is not None
    assert (refused.status, refused.param, refused.code) == (400, param, code)


@pytest.mark.parametrize("asked", ADMITTED.values(), ids=ADMITTED)
def test_passes(asked: Json) -> None:
    assert refusal(asked) is None


def test_the_limit_of_tools_can_be_lifted() -> None:
    assert refusal(request(tools=[tool()] * 300), max_tools=None) is None


def test_the_body_is_an_openai_error() -> None:
    refused = refusal(request(tools=[tool()] * 129))
    assert refused is not None
    assert refused.body() == {
        "error": {
            "message": "Invalid 'tools': array too long. Expected an array with maximum "
            "length 128, but got an array with length 129 instead.",
            "type": "invalid_request_error",
            "param": "tools",
            "code": "array_above_max_length",
        }
    }
