"""The strategy `wrap`: found tools are called through one tool, `call_tool(name, arguments)`,
so that the declared array never changes."""

import json
import re

from app.core import wording
from app.core.body import Body
from app.core.codec import decode, encode

_ARGUMENTS = re.compile(r'"arguments"\s*:\s*')


def declaration(name: str, bridge: str) -> bytes:
    """The wrapper's own declaration."""
    parameters = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": wording.WRAPPED_NAME},
            "arguments": {"type": "object", "description": wording.WRAPPED_ARGUMENTS},
        },
        "required": ["name", "arguments"],
    }
    description = wording.WRAPPER.format(bridge=bridge)
    function = {"name": name, "description": description, "parameters": parameters}
    return encode({"type": "function", "function": function})


def unwrap(arguments: str) -> tuple[str, str] | None:
    """The real call: its name, and its arguments as the model wrote them, which may be an
    object or a text that holds one. None where it cannot be read."""
    try:
        body = Body(arguments.encode("utf-8", "surrogatepass"))
        name = body.value("name")
        inner = (body.get("arguments") or b"{}").decode()
        text = decode(inner) if inner.startswith('"') else inner
    except ValueError:
        name, text = _leniently(arguments)
    if not isinstance(name, str) or not name:
        return None
    return name, "{}" if text in ("null", "") else text


def _leniently(arguments: str) -> tuple[object, str]:
    """What strict JSON does not allow, such as NaN: the app's parser may take it."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return None, ""
    if not isinstance(value, dict):
        return None, ""
    inner = value.get("arguments", {})
    if isinstance(inner, str) or not (start := _ARGUMENTS.search(arguments)):
        return value.get("name"), inner if isinstance(inner, str) else "{}"
    _, end = json.JSONDecoder().raw_decode(arguments, start.end())
    return value.get("name"), arguments[start.end() : end]


def wrapped(name: str, arguments: str) -> str:
    """The arguments of the wrapper's call that says the same as a real call."""
    try:
        decode(arguments or "{}")
        inner = (arguments or "{}").encode()
    except ValueError:
        inner = encode(arguments)
    return (b'{"name":%b,"arguments":%b}' % (encode(name), inner)).decode()
