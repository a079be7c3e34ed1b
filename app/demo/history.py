"""What OpenAI refuses about messages: each one by itself, and the calls with their answers."""

from collections.abc import Iterator

from app.core.codec import Json
from app.demo import keys
from app.demo.refusal import (
    Refusal,
    empty_array,
    long_string,
    missing,
    mistyped,
    unknown,
    unsupported,
)

MAX_CALL_ID = 40
SPOKEN = ("tool_calls", "function_call", "refusal", "audio")  # What may stand for content.


def messages(request: Json) -> Iterator[Refusal]:
    """Objections to single messages."""
    for at, message in enumerate(request["messages"]):
        path, role = f"messages[{at}]", message.get("role")
        if role not in keys.MESSAGE:
            yield unsupported(f"{path}.role", role, supported=tuple(keys.MESSAGE))
            continue
        yield from (unknown(f"{path}.{key}") for key in message if key not in keys.MESSAGE[role])
        if message.get("tool_calls") == []:
            yield empty_array(f"{path}.tool_calls")
        if message.get("content") is None and not any(message.get(key) for key in SPOKEN):
            null = "Invalid value for 'content': expected a string, got null."
            yield Refusal(null, f"messages.[{at}].content")
        for index, call in enumerate(message.get("tool_calls") or ()):
            yield from _call(call, f"{path}.tool_calls[{index}]")


def _call(call: Json, path: str) -> Iterator[Refusal]:
    yield from (unknown(f"{path}.{key}") for key in call if key not in keys.CALL)
    yield from (missing(f"{path}.{key}") for key in ("id", "type", "function") if key not in call)
    length = len(call["id"])
    if length > MAX_CALL_ID:
        yield long_string(f"{path}.id", limit=MAX_CALL_ID, length=length)
    called = call["function"]
    yield from (unknown(f"{path}.function.{key}") for key in called if key not in keys.CALLED)
    if not isinstance(called.get("arguments"), str):
        yield mistyped(f"{path}.function.arguments", expected="a string")


def pairs(request: Json) -> Iterator[Refusal]:
    """Objections to calls without an answer and answers without a call."""
    waiting: list[str] = []
    for at, message in enumerate(request["messages"]):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                yield _orphan(at)
                return
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            yield _unanswered(at, waiting)
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
    if waiting:
        yield _unanswered(len(request["messages"]), waiting)


def _orphan(at: int) -> Refusal:
    # The spelling of "preceeding" is OpenAI's, and clients look for this sentence.
    message = (
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
        "with 'tool_calls'."
    )
    return Refusal(message, f"messages.[{at}].role")


def _unanswered(at: int, ids: list[str]) -> Refusal:
    message = (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: "
    )
    return Refusal(message + ", ".join(ids), f"messages.[{at}].role")
