"""The client's messages: what they call, and what we add to them.

They are kept as the bytes that came: ours are appended, and only the system message that
is to carry the manifest is written anew.
"""

from collections.abc import Iterable

import msgspec

from app.core.body import Body, Malformed
from app.core.chunks import dicts
from app.core.codec import Json, decode, encode

_INSTRUCTIONS = ("system", "developer")


class _Named(msgspec.Struct):
    name: str | None = None


class _Call(msgspec.Struct):
    function: _Named | None = None
    custom: _Named | None = None


class _Message(msgspec.Struct):
    tool_calls: list[_Call] | None = None


_messages = msgspec.json.Decoder(list[_Message])
_raw_messages = msgspec.json.Decoder(list[msgspec.Raw])


def called_names(messages: bytes) -> tuple[str, ...]:
    """The tools that the history calls, in order of their first call. Raises Malformed."""
    try:
        history = _messages.decode(messages)
    except (msgspec.DecodeError, RecursionError):
        raise Malformed("messages-malformed") from None
    calls = (call for message in history for call in message.tool_calls or ())
    named = (call.function or call.custom for call in calls)
    return tuple(dict.fromkeys(one.name for one in named if one is not None and one.name))


def extended(messages: bytes, added: Iterable[Json]) -> bytes:
    """The array with these messages at its end; what stood before keeps its bytes."""
    more = b",".join(encode(message) for message in added)
    if not more:
        return messages
    start = messages.rstrip()[:-1].rstrip()
    comma = b"" if start.endswith(b"[") else b","
    return start + comma + more + b"]"


def instructed(messages: bytes, text: str) -> bytes | None:
    """The array with the text at the end of its first message, None where that is not an
    instruction: a system message is never added, since templates refuse a second one."""
    first = next(iter(_raw_messages.decode(messages)), None)
    if first is None:
        return None
    message = decode(first)
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(message, dict) or message.get("role") not in _INSTRUCTIONS:
        return None
    if isinstance(content, str):
        longer: object = f"{content}\n\n{text}"
    elif isinstance(content, list):
        longer = [*content, {"type": "text", "text": text}]
    else:
        return None
    at = messages.index(b"{")
    rewritten = Body(bytes(first)).splice({"content": encode(longer)})
    return messages[:at] + rewritten + messages[at + len(first) :]


def last_request(messages: bytes) -> str:
    """What the user asked for last."""
    for message in reversed(list(dicts(decode(messages)))):
        if message.get("role") == "user":
            return _text(message.get("content"))
    return ""


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    return " ".join(str(part.get("text", "")) for part in dicts(content))
