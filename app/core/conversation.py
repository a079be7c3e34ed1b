"""The client's messages, read: what they call, and what may be remembered of them.

They are kept as the bytes that came: only what changes is written anew.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import msgspec

from app.core.body import Body, Malformed
from app.core.chunks import dicts
from app.core.codec import Json, decode, encode

_INSTRUCTIONS = ("system", "developer")
_SEPARATOR = re.compile(rb"[ \t\r\n]*,?[ \t\r\n]*")


class _Named(msgspec.Struct):
    name: str | None = None


class _Call(msgspec.Struct):
    id: str | None = None
    function: _Named | None = None
    custom: _Named | None = None

    @property
    def name(self) -> str:
        named = self.function or self.custom
        return (named.name if named else None) or ""


class Message(msgspec.Struct):
    """What is read of a message."""

    role: str = ""
    content: msgspec.Raw = msgspec.Raw(b"null")
    tool_calls: list[_Call] | None = None


_messages = msgspec.json.Decoder(list[Message])
_raw_messages = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True)
class Conversation:
    """The messages of a request, as they came and as they are read."""

    raw: bytes
    messages: list[Message]

    @classmethod
    def read(cls, raw: bytes) -> "Conversation":
        """Raises Malformed."""
        try:
            return cls(raw, _messages.decode(raw))
        except (msgspec.DecodeError, RecursionError):
            raise Malformed("messages-malformed") from None

    @cached_property
    def called(self) -> tuple[str, ...]:
        """The tools that the history calls, in order of their first call."""
        calls = (call for message in self.messages for call in message.tool_calls or ())
        return tuple(dict.fromkeys(call.name for call in calls if call.name))

    @property
    def keys(self) -> list[str | None]:
        """For each message the key under which a turn that ended with it is remembered."""
        return self._digested[0]

    @property
    def context(self) -> bytes:
        """A digest of all that user and assistant have said."""
        return self._digested[1]

    @cached_property
    def _digested(self) -> tuple[list[str | None], bytes]:
        keys: list[str | None] = []
        digest = sha256()
        for message in self.messages:
            key = None
            if message.role in ("user", "assistant"):
                text = content_text(decode(message.content))
                ids = [call.id or "" for call in message.tool_calls or ()]
                if message.role == "assistant":
                    key = turn_key(digest.digest(), ids[0] if ids else "", text)
                digest.update(encode([message.role, text.strip(), ids]))
            keys.append(key)
        return keys, digest.digest()

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Where each message begins and ends in the raw text."""
        spans = []
        at = self.raw.index(b"[") + 1
        for item in _raw_messages.decode(self.raw):
            match = _SEPARATOR.match(self.raw, at)
            start = match.end() if match else at
            at = start + len(item)
            spans.append((start, at))
        return spans


def turn_key(context: bytes, call_id: str, text: str) -> str | None:
    """The key of a turn: what was said before it, and the id of its first call or else its
    text. Some servers number their ids, and many turns end in "Done."."""
    own = ["call", call_id] if call_id else ["text", text.strip()]
    return sha256(context + encode(own)).hexdigest() if own[1] else None


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
    """What the user asked for last, as text."""
    for message in reversed(list(dicts(decode(messages)))):
        if message.get("role") == "user":
            return content_text(message.get("content"))
    return ""


def content_text(content: object) -> str:
    """The text of a message's content, which may be in parts."""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in dicts(content))
