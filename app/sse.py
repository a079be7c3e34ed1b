"""Server-sent events as bytes. https://html.spec.whatwg.org/multipage/server-sent-events.html

Lines end in CR, LF or CRLF and in nothing else: `str.splitlines` also cuts at U+2028 and
U+0085, which JSON may hold. An event keeps its bytes, so that it can be passed on as it came.
"""

import re
from typing import NamedTuple

from app.core.errors import Broken

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BLANK_LINE = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)")
_OVERLAP = 3
"""Bytes before a cut that may belong to a blank line behind it."""
_BOM = b"\xef\xbb\xbf"
LARGEST_EVENT = 4 * 1024 * 1024


class Event(NamedTuple):
    """An event: its bytes with the blank line, and its data, None for a comment."""

    raw: bytes
    data: bytes | None


class Decoder:
    """Feed bytes as they arrive; get the events that they complete."""

    def __init__(self, largest: int = LARGEST_EVENT) -> None:
        self._rest = b""
        self._lineless: list[bytes] = []
        """What came behind the rest and ends no line: put together once one ends."""
        self._size = 0
        self._begun = False
        self._largest = largest

    def feed(self, received: bytes) -> list[Event]:
        """Raises Broken for an event that does not end within the limit."""
        self._size += len(received)
        if self._begun and b"\n" not in received and b"\r" not in received:
            self._lineless.append(received)
            self._check()
            return []
        scanned = max(len(self._rest) - _OVERLAP, 0)
        text = b"".join([self._rest, *self._lineless, received])
        self._lineless.clear()
        if not self._begun:
            if len(text) < len(_BOM) and _BOM.startswith(text):
                self._rest = text
                return []
            text, self._begun = text.removeprefix(_BOM), True
        if b"\r" in text:
            events, self._rest = _cut(text, scanned)
        else:
            *complete, self._rest = text.split(b"\n\n")
            events = [_event(part + b"\n\n") for part in complete]
        self._size = len(self._rest)
        self._check()
        return events

    def _check(self) -> None:
        if self._size > self._largest:
            raise Broken("An event of the upstream's stream is too long.")

    def flush(self) -> list[Event]:
        """The last event of a stream that ended without its blank line."""
        rest = b"".join([self._rest, *self._lineless]).strip(b"\r\n")
        self._rest, self._lineless = b"", []
        return [_event(rest + b"\n\n")] if rest else []


def encode(data: bytes) -> bytes:
    """An event with this one line of data."""
    return b"data: " + data + b"\n\n"


def _cut(text: bytes, scanned: int) -> tuple[list[Event], bytes]:
    """Events whose lines end in any of the three ways, and what is left."""
    events, start = [], 0
    for blank in _BLANK_LINE.finditer(text, scanned):
        events.append(_event(text[start : blank.end()]))
        start = blank.end()
    return events, text[start:]


def _event(raw: bytes) -> Event:
    if raw.startswith(b"data: ") and raw.find(b"\n") == len(raw) - 2 and b"\r" not in raw:
        return Event(raw, raw[6:-2])  # one line of data, as nearly always
    fields = (line.partition(b":") for line in _LINE_END.split(raw))
    data = [value.removeprefix(b" ") for name, _, value in fields if name == b"data"]
    return Event(raw, b"\n".join(data) if data else None)
