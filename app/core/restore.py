"""The conversation as the upstream knows it: the client's messages with our exchanges put
back where they were, so that the prompt begins with what the upstream has cached.

Without a record the request is valid all the same. With strategy `wrap` the client's real
calls are folded back into the wrapper, and a tool whose schema the conversation does not
show is shown before its first use.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from app.core.body import Body
from app.core.chunks import dicts
from app.core.codec import Json, encode
from app.core.conversation import Conversation, Message
from app.core.exchange import Exchange, shown
from app.core.memory import Record
from app.core.terms import Terms
from app.core.wrap import wrapped

_SIGNATURE = "extra_content"
_PLAIN = {
    "role",
    "content",
    "tool_calls",
    "name",
    "refusal",
    "annotations",
    "audio",
    "function_call",
}
_PLAIN_CALL = {"id", "type", "function", "index"}


class Restored(NamedTuple):
    """The messages, and what they have brought to light."""

    raw: bytes
    discovered: tuple[str, ...]
    """The tools that they declare, in order of discovery."""
    found: dict[str, dict[str, int]]
    """Those that a search has found, each with the rank that every ranker gave it."""
    exchanges: tuple[Exchange, ...]
    """What is ours in them."""


class _Around(NamedTuple):
    """What becomes of one message: what stands before it, itself, what stands behind it."""

    before: list[Json]
    message: bytes
    after: list[Json]
    exchanges: list[Exchange]
    """What is ours of it."""


def restore(conversation: Conversation, records: Mapping[str, Record], terms: Terms) -> Restored:
    """Put back what was remembered, and discover the tools again in the same order."""
    discovered: dict[str, None] = {}
    known: set[str] = set()
    pieces: list[bytes] = []
    ours: list[Exchange] = []
    at = 0
    for position, message in enumerate(conversation.messages):
        if message.role == "assistant":
            record = records.get(conversation.keys[position] or "") if records else None
            discovered.update(dict.fromkeys(record.promoted if record else ()))
            discovered.update(dict.fromkeys(c.name for c in message.tool_calls or () if c.name))
            if record or (terms.wraps and message.tool_calls):
                start, end = conversation.spans[position]
                raw = conversation.raw[start:end]
                around = _around(raw, message, record, terms, known)
                end_before = conversation.spans[position - 1][1] if position else 0
                pieces += [conversation.raw[at:end_before]] if position else [b"["]
                pieces.append(_joined(around.before, first=not position))
                gap = conversation.raw[end_before:start] if position else b""
                pieces += [gap, around.message, _joined(around.after, first=False)]
                ours += around.exchanges
                at = end
    pieces.append(conversation.raw[at:])
    found = {name: ranks for record in records.values() for name, ranks in record.found.items()}
    return Restored(b"".join(pieces), tuple(discovered), found, tuple(ours))


def _joined(messages: Iterable[Json], *, first: bool) -> bytes:
    """Messages behind another, or, at the head of the array, before one."""
    texts = [encode(message) for message in messages]
    return b"".join(text + b"," if first else b"," + text for text in texts)


def _around(
    raw: bytes, message: Message, record: Record | None, terms: Terms, known: set[str]
) -> _Around:
    ours = [one for one in record.exchanges if one.fits(terms)] if record else []
    mixed = record.mixed if record and record.mixed and record.mixed.fits(terms) else None
    body = Body(raw)
    if record is not None:
        known.update(name for exchange in record.exchanges for name in exchange.found)
        body = _without(body, record.spoken, terms)
    if mixed is not None:
        body = _with_searches(body, mixed, terms)
    if terms.wraps and message.tool_calls:
        ours += _shown(body, message, terms, known)
        body = _wrapped(body, terms)
    if record is not None and record.mixed is not None:
        known.update(record.mixed.found)
    before = [message for exchange in ours for message in exchange.messages(terms)]
    after = mixed.answered(terms) if mixed else []
    return _Around(before, body.splice({}), after, [*ours, *([mixed] if mixed else [])])


def _without(body: Body, spoken: str, terms: Terms) -> Body:
    """The message less the words that stand in the exchanges before it."""
    content = body.value("content")
    if not spoken:
        return body
    if isinstance(content, str) and content.startswith(spoken):
        rest = content[len(spoken) :] or (terms.traits.content if body.get("tool_calls") else "")
        return Body(body.splice({"content": encode(rest)}))
    parts = list(dicts(content))
    if parts and str(parts[0].get("text", "")).startswith(spoken):
        rest = str(parts[0]["text"])[len(spoken) :]
        kept = [{**parts[0], "text": rest}, *parts[1:]] if rest else parts[1:]
        return Body(body.splice({"content": encode(kept or "")}))
    return body


def _with_searches(body: Body, mixed: Exchange, terms: Terms) -> Body:
    """The message with the searches of its round in their places among its calls."""
    own = list(dicts(body.value("tool_calls")))
    pairs = list(zip(mixed.calls, mixed.answers, strict=True))
    moved = [call[_SIGNATURE] for call, answer in pairs if answer and _SIGNATURE in call]
    entries: list[Json] = []
    for at, (call, answer) in enumerate(pairs):
        if answer is not None:
            entries.append(mixed.call(at, terms))
        elif found := next((one for one in own if one.get("id") == call["id"]), None):
            own.remove(found)
            lent = _SIGNATURE not in call and found.get(_SIGNATURE) in moved
            entries.append({k: v for k, v in found.items() if not (lent and k == _SIGNATURE)})
    return Body(body.splice({"tool_calls": encode([*entries, *own])}))


def _shown(body: Body, message: Message, terms: Terms, known: set[str]) -> list[Exchange]:
    """A search for the tools of this message that the conversation has not shown. Where the
    upstream signs what its model says, nothing that the model did not say is put in."""
    new = [call.name for call in message.tool_calls or () if call.name in terms.shape.deferred]
    new = [name for name in dict.fromkeys(new) if name not in known]
    known.update(new)
    signed = any(call.keys() - _PLAIN_CALL for call in dicts(body.value("tool_calls")))
    if not new or signed or body.names() - _PLAIN:
        return []
    seed = (message.tool_calls or [])[0].id or ""
    return [one for one in [shown(new, seed.encode())] if one.fits(terms)]


def _wrapped(body: Body, terms: Terms) -> Body:
    """The message with its calls of deferred tools made through the wrapper."""
    calls = [_wrapped_call(call, terms) for call in dicts(body.value("tool_calls"))]
    return Body(body.splice({"tool_calls": encode(calls)}))


def _wrapped_call(call: Json, terms: Terms) -> Json:
    function = call.get("function")
    if not isinstance(function, dict) or function.get("name") not in terms.shape.deferred:
        return call
    given = function.get("arguments") or ""
    text = given if isinstance(given, str) else encode(given).decode()
    arguments = wrapped(function["name"], text)
    return {**call, "function": {**function, "name": terms.wrapper, "arguments": arguments}}
