"""A JSON object whose untouched members keep the bytes they came with.

A proxy that parses a body and writes it again changes numbers, key order and escapes. So
a body is cut into members, and only the members that change are written anew.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from app.core.codec import decode, encode

_KEY = re.compile(rb'[ \t\r\n]*("(?:[^"\\]|\\.)*")[ \t\r\n]*:[ \t\r\n]*')
_COMMA = re.compile(rb"[ \t\r\n]*,")
_END = re.compile(rb"[ \t\r\n]*}[ \t\r\n]*\Z")
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


_PLACEHOLDER = b"0"
"""Stands for a member that is known while the others are read."""


class Malformed(ValueError):
    """Not one JSON object with every member named once. The text is a reason word."""


class _Span(NamedTuple):
    key: int
    start: int
    end: int


class Body:
    """A JSON object, cut into its members."""

    __slots__ = ("_known", "_raw", "_spans")

    def __init__(self, raw: bytes, name: str = "", known: Iterable[bytes] = ()) -> None:
        """Raises Malformed: `not-json`, or `duplicate-keys` (which parsers read differently).

        Where the member `name` is one of the `known` texts it is not read again: comparing
        bytes is all that its size costs.
        """
        self._raw, self._known, at = _left_out(raw, name, known)
        self._spans = _cut(self._raw)
        if self._known and (name not in self._spans or self._spans[name].start != at):
            # The text stands elsewhere too, and it was not the member's that was left out.
            self._raw, self._known, self._spans = raw, {}, _cut(raw)

    def __contains__(self, name: str) -> bool:
        return name in self._spans

    def names(self) -> set[str]:
        """The names of the members."""
        return set(self._spans)

    def get(self, name: str) -> bytes | None:
        """The JSON text of a member."""
        if name in self._known:
            return self._known[name]
        span = self._spans.get(name)
        return None if span is None else self._raw[span.start : span.end]

    def value(self, name: str) -> object:
        """The value of a member, None where it is absent. Raises ValueError."""
        text = self.get(name)
        return None if text is None else decode(text)

    def splice(self, members: Mapping[str, bytes]) -> bytes:
        """The object with these members set; all other bytes are as they were."""
        members = self._known | dict(members)
        pieces, at = [], 0
        for name, span in self._spans.items():
            if name in members:
                pieces += [self._raw[at : span.start], members[name]]
                at = span.end
        end = self._raw.rindex(b"}")
        pieces.append(self._raw[at:end])
        comma = b"," if self._spans else b""
        for name, text in members.items():
            if name not in self._spans:
                pieces += [comma, encode(name), b":", text]
                comma = b","
        return b"".join([*pieces, self._raw[end:]])

    def without(self, *names: str) -> bytes:
        """The object less these members."""
        kept = [
            self._raw[span.key : span.start] + (self.get(name) or b"")
            for name, span in self._spans.items()
            if name not in names
        ]
        return b"{" + b",".join(kept) + b"}"


def _left_out(raw: bytes, name: str, known: Iterable[bytes]) -> tuple[bytes, dict[str, bytes], int]:
    """The text with a placeholder for a member that is known, and where that stands. The
    name cannot be met inside a string: its quotes would be escaped there."""
    key = b'"%b":' % name.encode()
    at = raw.find(key) + len(key)
    while raw[at : at + 1].isspace():
        at += 1
    for text in known:
        if raw.startswith(text, at) and key in raw[:at]:
            return raw[:at] + _PLACEHOLDER + raw[at + len(text) :], {name: text}, at
    return raw, {}, at


def _cut(raw: bytes) -> dict[str, _Span]:
    try:
        if not raw.isascii():
            raw.decode()  # members that are not read are not checked either
        values = _members.decode(raw)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        raise Malformed("not-json") from None
    spans: dict[str, _Span] = {}
    at = raw.index(b"{") + 1
    for name, value in values.items():
        if spans:
            at = _match(_COMMA, raw, at).end()
        key = _match(_KEY, raw, at)
        at = key.end() + len(value)
        if decode(key[1]) != name or raw[key.end() : at] != bytes(value):
            raise Malformed("duplicate-keys")
        spans[name] = _Span(key.start(1), key.end(), at)
    _match(_END, raw, at)
    return spans


def _match(pattern: re.Pattern[bytes], raw: bytes, at: int) -> re.Match[bytes]:
    """The decoder keeps the last of two equal keys, so a text that it accepts and that does
    not go on as its members say has named one twice."""
    match = pattern.match(raw, at)
    if match is None:
        raise Malformed("duplicate-keys")
    return match
