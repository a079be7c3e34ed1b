"""The vocabulary of these tests: requests in a few words."""

from typing import Any

Json = dict[str, Any]


def request(*messages: Json, tools: list[Any] | None = None, **members: Any) -> Json:
    """A chat completion request; a lone greeting when no messages are given."""
    asked: Json = {"model": "demo-model", "messages": list(messages) or [user("Hello")]}
    return asked | ({} if tools is None else {"tools": tools}) | members


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def tool(name: str | None = "look", *properties: str, **members: Any) -> Json:
    """A function tool whose parameters are strings."""
    parameters = {"type": "object", "properties": {one: {"type": "string"} for one in properties}}
    function = {"name": name, "description": "Looks.", "parameters": parameters} | members
    return {"type": "function", "function": function}


def called(*calls: tuple[str, str, str], **members: Any) -> Json:
    """An assistant message with calls, each an id, a name and JSON arguments."""
    tool_calls = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for id, name, arguments in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": tool_calls} | members


def answered(id: str, output: str) -> Json:
    return {"role": "tool", "tool_call_id": id, "content": output}


def named(name: str) -> Json:
    """A `tool_choice` that names a tool."""
    return {"type": "function", "function": {"name": name}}


def allowed(*names: str, mode: str = "auto") -> Json:
    """A `tool_choice` that narrows the tools to these."""
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [*map(named, names)]}}
