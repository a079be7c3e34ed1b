"""A model without tool calling: what it writes where another would make calls."""

import json
from typing import Any

from app.core.codec import Json

REFUSED = ("tools", "tool_choice", "parallel_tool_calls")


def refusal(request: Json) -> str | None:
    """Why a server that only knows text refuses a request."""
    unknown = [name for name in REFUSED if name in request]
    for message in request.get("messages", []):
        unknown += [name for name in ("tool_calls", "tool_call_id") if name in message]
        unknown += ["role tool"] if message.get("role") == "tool" else []
    return f"not supported: {', '.join(unknown)}" if unknown else None


def as_text(completion: Json, dialect: str) -> Json:
    """A completion whose calls are written as text."""
    choices = []
    for choice in completion["choices"]:
        message = dict(choice["message"])
        calls = message.pop("tool_calls", [])
        written = "\n".join(f"<tool_call>{_body(call, dialect)}</tool_call>" for call in calls)
        words = message.get("content") or ""
        if calls:
            message["content"] = f"{words}\n{written}\n" if words else f"{written}\n"
        finish = "stop" if calls else choice["finish_reason"]
        choices.append({**choice, "message": message, "finish_reason": finish})
    return {**completion, "choices": choices}


def _body(call: Json, dialect: str) -> str:
    inner: Json = call[call["type"]]
    arguments = inner.get("arguments", json.dumps({"input": inner.get("input")}))
    if dialect == "pformat" and (values := _flat(arguments)) is not None:
        return f"{inner['name']}[{'|'.join(values)}]"
    return f'{{"name": {json.dumps(inner["name"])}, "arguments": {arguments}}}'


def _flat(arguments: str) -> list[str] | None:
    """The values in the order of their names, where a model that knows the tool would write
    them so. Those that are left out are left out at the end."""
    try:
        given: Any = json.loads(arguments)
    except ValueError:
        return None
    if not isinstance(given, dict) or not all(isinstance(v, str | int) for v in given.values()):
        return None
    marked = [str(given[name]).replace("\\", "\\\\") for name in sorted(given)]
    return [text.replace("|", "\\|").replace("]", "\\]") for text in marked]
