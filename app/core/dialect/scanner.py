"""A text with calls in it, read as it arrives.

Text leaves as soon as it cannot be the start of a tag, a call as soon as its tag ends. What
is between tags and cannot be read is text, whole: its opening tag is let go, and reading
goes on behind that. Every decision rests on the text alone and not on where it was cut.
"""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from app.core.dialect import jsontag, tags
from app.core.dialect.said import Said

Read = Callable[[str], list[Said] | None]
"""The calls of a tag's body, None where it is not calls."""

_HEAD = re.compile(
    r"\s*(?:(?P<json>[{\[`])|<|(?:call:\s*)?[\w./:-]{0,128}\s*(?:\Z|\[|(?P<of>[({])))"
)
"""How a body may begin: with JSON, with `<invoke`, or with a name and its arguments."""
_HEADS = {"tag": _HEAD, "fence": _HEAD, "json": tags.CALL_HEAD}
_STRING = re.compile(r'\\.|"', re.DOTALL)
_ENDS = {
    "tag": tags.BOUNDARY,
    "fence": tags.FENCE_END,
    "json": tags.FENCE_END,
    "invoke": tags.INVOKE_END,
}


class _Opened(NamedTuple):
    """The tag at the head of what waits."""

    kind: str
    length: int
    served: bool = False
    """It was the end of the call before it: it is not text if it opens nothing."""


def _is_json(opened: _Opened, head: re.Match[str]) -> bool:
    return opened.kind == "json" or bool(head["json"] or head["of"])


class Scanner:
    """One reply's text."""

    def __init__(self, read: Read, stops: Iterable[str] = ()) -> None:
        """`stops`: where one of these stands in the text, the reply is over."""
        self.stopped = False
        self._read = read
        self._stops = [stop for stop in stops if stop]
        self._rest = ""
        self._at = 0
        """What stands before this in the rest has been dealt with."""
        self._more: list[str] = []
        self._opened: _Opened | None = None
        self._from = 0
        """Where the end of the tag that is open is looked for."""
        self._quotes = (0, False)
        """How far the strings of the open body are read, and whether one is open there."""
        self._out: list[str | Said] = []
        self._gap: str | None = ""
        """White space at the head of the reply or behind a call; None within words."""
        self._has_called = False

    def feed(self, text: str) -> list[str | Said]:
        """What is decided now, in order."""
        if self._opened and self._from and ">" not in text and "`" not in text:
            self._more.append(text)  # a long body: no end can be in it
            return []
        return self._go_on(text, last=False)

    def end(self) -> list[str | Said]:
        """No more text comes."""
        out = self._go_on("", last=True)
        if self._gap and not self._has_called:
            out.append(self._gap)
        self._gap = None
        return out

    def _go_on(self, text: str, *, last: bool) -> list[str | Said]:
        self._rest = "".join([self._rest, *self._more, text])
        self._more = []
        while not self.stopped and (self._inside(last) if self._opened else self._outside(last)):
            pass
        self._forget()
        out, self._out = self._out, []
        return out

    def _forget(self) -> None:
        """Drop what has been dealt with."""
        at = len(self._rest) if self.stopped else self._at
        self._rest, self._at = self._rest[at:], 0
        self._from = max(self._from - at, 0)
        self._quotes = (max(self._quotes[0] - at, 0), self._quotes[1])

    # -- between tags -------------------------------------------------------

    def _outside(self, last: bool) -> bool:
        """Let text go up to the next tag; whether there was one."""
        opener = tags.OPENER.search(self._rest, self._at)
        beginning = None if last else tags.BEGINNING.search(self._rest, self._tail(tags.LONGEST))
        certain = min(
            opener.start() if opener else len(self._rest),
            beginning.start() if beginning else len(self._rest),
        )
        found = (self._rest.find(s, self._at, certain + len(s) - 1) for s in self._stops)
        stop = min((at for at in found if at >= 0), default=-1)
        if stop >= 0:
            self._tell(stop)
            self.stopped = True
            return False
        if opener is not None:
            self._tell(opener.start())
            self._open(_Opened(opener.lastgroup or "tag", len(opener[0])))
            return True
        self._tell(certain if last else min(certain, self._may_stop()))
        return False

    def _may_stop(self) -> int:
        """Where the beginning of a stop sequence may stand at the end of the text."""
        longest = max(map(len, self._stops), default=0)
        for at in range(self._tail(longest), len(self._rest)):
            if any(stop.startswith(self._rest[at:]) for stop in self._stops):
                return at
        return len(self._rest)

    def _tail(self, length: int) -> int:
        return max(len(self._rest) - length, self._at)

    # -- behind an opening tag ------------------------------------------------

    def _open(self, opened: _Opened) -> None:
        self._opened = opened
        self._from = 0
        self._quotes = (self._at + opened.length, False)

    def _inside(self, last: bool) -> bool:
        """Read the body if its end is there; whether anything was decided."""
        opened = self._opened
        assert opened is not None, "a tag is open"
        start = self._at + opened.length
        close = _ENDS[opened.kind].search(self._rest, max(self._from, start))
        end = close.start() if close else len(self._rest)
        pattern = _HEADS.get(opened.kind)
        head = pattern.match(self._rest, start, end) if pattern else None
        if pattern and head is None:
            return self._let_go(opened)
        if close is None and not last:
            # An end may have begun; a head that is not whole is looked at again.
            settled = pattern is None or bool(head and head.end() < end)
            self._from = max(self._from, start, self._tail(tags.LONGEST)) if settled else 0
            return False
        if close and head and _is_json(opened, head) and self._in_string(close.start()):
            self._from = close.end()
            return True
        calls = self._calls(opened, start, end)
        if calls is None:
            return self._let_go(opened)
        self._out += calls
        self._gap, self._has_called = "", True
        self._after(opened, close)
        return True

    def _calls(self, opened: _Opened, start: int, end: int) -> list[Said] | None:
        if opened.kind == "invoke":
            return self._read(self._rest[self._at : end] + "</invoke>")
        body = self._rest[start:end]
        if opened.kind == "json" and not jsontag.is_to_the_letter(body):
            return None
        return self._read(body) if body.strip() else None

    def _after(self, opened: _Opened, close: re.Match[str] | None) -> None:
        """Go on behind the end of a call. A tag that may as well open the next one does so."""
        self._opened = None
        if close is None:
            self._at = len(self._rest)
        elif opened.kind == "invoke" or close[0] == "```" or tags.closes(close[0]):
            self._at = close.end()
        else:
            self._at = close.start()
            self._open(_Opened("tag", len(close[0]), served=True))

    def _let_go(self, opened: _Opened) -> bool:
        """The tag opens nothing that can be read: it is text, or was only an end."""
        self._opened = None
        if opened.served:
            self._at += opened.length
        else:
            self._tell(self._at + opened.length)
        return True

    def _in_string(self, end: int) -> bool:
        """Whether a JSON string is open at a place: a tag in it is not one."""
        at, is_open = self._quotes
        for match in _STRING.finditer(self._rest, at, end):
            at = match.end()
            is_open ^= match[0] == '"'
        self._quotes = (at, is_open)
        return is_open

    def _tell(self, end: int) -> None:
        """Let go of text up to a place. White space around calls is no part of the reply."""
        text, self._at = self._rest[self._at : end], end
        if self._gap is not None:
            text = self._gap + text
            self._gap = text if not text.strip() else None
            if self._gap is not None:
                return
        if text:
            self._out.append(text)
