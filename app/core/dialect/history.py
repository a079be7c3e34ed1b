"""Messages with tool traffic, as text: the same bytes for the same messages, every time.

An assistant's calls stand behind its words in the dialect's syntax; the results that follow
are one user turn, since templates take roles in turn and many know no other. Calls without a
result, and results without a call, are left out on both sides.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from app.core.body import Body, Malformed
from app.core.chunks import dicts
from app.core.codec import Json, decode, encode
from app.core.conversation import content_text
from app.core.dialect.said import Said
from app.core.dialect.tags import CLOSE, OPEN, result
from app.core.errors import BadRequest

Write = Callable[[Said], str]
"""The body of a call's tag."""

_INSTRUCTIONS = ("system", "developer")
_items = msgspec.json.Decoder(list[msgspec.Raw])


def has_tool_traffic(messages: bytes) -> bool:
    """Whether a history holds calls or results. Raises Malformed."""
    if b"tool" not in messages:
        return False
    return any(m.get("role") == "tool" or m.get("tool_calls") for _, m in _read(messages))


def rendered(messages: bytes, write: Write) -> bytes:
    """The messages without `tool_calls` and without role `tool`. Raises Malformed, and
    BadRequest where the last message answers a call that was never made."""
    read = _read(messages)
    _refuse_orphan(read)
    pieces: list[bytes] = []
    at = 0
    while at < len(read):
        raw, message = read[at]
        at += 1
        if message.get("role") == "tool":
            continue  # answers nothing
        if not message.get("tool_calls"):
            pieces.append(raw)
            continue
        results = _following(read[at:])
        at += len(results)
        cycle = _Cycle.of(message, results)
        pieces += cycle.assistant(raw, message, write)
        pieces += cycle.user()
    return b"[" + b",".join(pieces) + b"]"


def instructed(messages: bytes, text: str) -> bytes:
    """The messages with a text at the end of the first system message, or as the only one."""
    items = [bytes(raw) for raw in _items.decode(messages)]
    for at, item in enumerate(items):
        message = decode(item)
        if message.get("role") in _INSTRUCTIONS:
            longer = encode(_longer(message.get("content"), text, "\n\n"))
            items[at] = Body(item).splice({"content": longer})
            break
    else:
        items.insert(0, encode({"role": "system", "content": text}))
    return b"[" + b",".join(items) + b"]"


@dataclass(frozen=True)
class _Cycle:
    """The calls of one assistant message that have a result, and the results."""

    calls: list[Said]
    results: list[str]

    @classmethod
    def of(cls, message: Json, results: Sequence[Json]) -> "_Cycle":
        calls: dict[object, Said] = {}
        for call in dicts(message.get("tool_calls")):
            if (said := _said(call)) and isinstance(identifier := call.get("id"), str):
                calls.setdefault(identifier, said)
        answers: dict[object, str] = {}
        for one in results:
            identifier = one.get("tool_call_id")
            if isinstance(identifier, str) and identifier in calls and identifier not in answers:
                text = content_text(one.get("content"))
                answers[identifier] = result(calls[identifier].name, identifier, text)
        answered = [said for identifier, said in calls.items() if identifier in answers]
        return cls(answered, list(answers.values()))

    def assistant(self, raw: bytes, message: Json, write: Write) -> list[bytes]:
        """The message with its calls as text; none where nothing is left of it."""
        content = message.get("content")
        body = Body(Body(raw).without("tool_calls"))
        if self.calls:
            text = "\n".join(f"{OPEN}{write(said)}{CLOSE}" for said in self.calls)
            between = "" if content_text(content).endswith("\n") else "\n"
            return [body.splice({"content": encode(_longer(content, text, between))})]
        return [body.splice({})] if content_text(content) else []

    def user(self) -> list[bytes]:
        """The results."""
        if not self.results:
            return []
        return [encode({"role": "user", "content": "\n".join(self.results)})]


def _read(messages: bytes) -> list[tuple[bytes, Json]]:
    try:
        read = [(bytes(raw), decode(raw)) for raw in _items.decode(messages)]
    except (msgspec.DecodeError, RecursionError):
        raise Malformed("messages-malformed") from None
    if not all(isinstance(message, dict) for _, message in read):
        raise Malformed("messages-malformed")
    return read


def _following(read: Iterable[tuple[bytes, Json]]) -> list[Json]:
    """The tool messages right behind a message."""
    found: list[Json] = []
    for _, message in read:
        if message.get("role") != "tool":
            break
        found.append(message)
    return found


def _refuse_orphan(read: Sequence[tuple[bytes, Json]]) -> None:
    """A result that ends the conversation is what the model is asked about: without its call
    it is the client's mistake, as it would be at OpenAI (whose spelling this is)."""
    at = len(read)
    while at and read[at - 1][1].get("role") == "tool":
        at -= 1
    if at < len(read) and not (at and read[at - 1][1].get("tool_calls")):
        raise BadRequest(
            f"`messages[{at}]` has the role `tool`, so it must be a response to a preceeding "
            "message with `tool_calls`. Send the assistant's message before it, or leave it out.",
            f"messages[{at}].role",
        )


def _said(call: Json) -> Said | None:
    kind = "custom" if call.get("type") == "custom" else "function"
    inner = call.get(kind)
    name = inner.get("name") if isinstance(inner, dict) else None
    if not isinstance(inner, dict) or not isinstance(name, str) or not name:
        return None
    given = inner.get("input" if kind == "custom" else "arguments")
    text = given if isinstance(given, str) else encode(given or {}).decode()
    return Said(name, text, kind)


def _longer(content: object, text: str, between: str) -> object:
    if isinstance(content, list) and content:
        return [*content, {"type": "text", "text": between + text}]
    return f"{content}{between}{text}" if isinstance(content, str) and content else text
