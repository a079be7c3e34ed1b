"""Does a body that is only passed on hold a large `tools` array? Told from the bytes that go by."""

_MEMBER = b'"tools"'
_LARGE = 8_192
"""Bytes, of about 2,000 tokens: from there on folding would have paid."""
_FAR = 1024 * 1024
"""Bytes in which the member is looked for: behind them it is not."""


class Sniffer:
    """Fed with the parts of a body. Keeps seven bytes of them."""

    __slots__ = ("_tail", "_tools_at", "size")

    def __init__(self) -> None:
        self.size = 0
        """Bytes that came."""
        self._tail = b""
        self._tools_at: int | None = None

    def feed(self, part: bytes) -> None:
        """Another part has come."""
        if self._tools_at is None and self.size < _FAR:
            window = self._tail + part
            at = window.find(_MEMBER, 1 if self._tail else 0)  # what ended there has been seen
            while at > 0 and window[at - 1 : at] == b"\\":  # it stands in a text
                at = window.find(_MEMBER, at + 1)
            if at >= 0:
                self._tools_at = self.size - len(self._tail) + at
            self._tail = window[-len(_MEMBER) :]
        self.size += len(part)

    @property
    def tools(self) -> int:
        """Bytes from the array to the body's end, 0 where there are few: the array is not
        parsed, so what stands behind it counts too."""
        behind = 0 if self._tools_at is None else self.size - self._tools_at
        return behind if behind >= _LARGE else 0
