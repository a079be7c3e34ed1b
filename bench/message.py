"""One HTTP/1.1 message, framed and no more.

Both ends of the bench use it, and both must be far cheaper than what stands between them. So bytes
are kept as they came, one message at a time is in flight, and nothing is decoded until asked.
"""

import re

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
_LAST_CHUNK = b"0\r\n\r\n"


class Message:
    """Bytes of one message, fed until it is whole."""

    def __init__(self) -> None:
        self.head = b""
        """From the first line to the empty line, once it is all here."""
        self._parts: list[bytes] = []
        self._received = 0
        self._length: int | None = None
        """Of the whole message, or None when it is chunked."""

    def feed(self, data: bytes) -> bool:
        """Take what the socket gave; true once the message is whole."""
        self._parts.append(data)
        self._received += len(data)
        if not self.head and not self._read_head():
            return False
        if self._length is not None:
            return self._received >= self._length
        return self._tail().endswith(_LAST_CHUNK)

    def body(self) -> bytes:
        """The body, without the framing of its chunks."""
        framed = b"".join(self._parts)[len(self.head) :]
        return framed if self._length is not None else _dechunked(framed)

    def _read_head(self) -> bool:
        head, end, _ = b"".join(self._parts).partition(b"\r\n\r\n")
        if not end:
            return False
        self.head = head + end
        if not _CHUNKED.search(head):
            length = _LENGTH.search(head)
            self._length = len(self.head) + (int(length[1]) if length else 0)
        return True

    def _tail(self) -> bytes:
        last = self._parts[-1]
        if len(last) >= len(_LAST_CHUNK):
            return last
        return b"".join(self._parts[-len(_LAST_CHUNK) :])


def _dechunked(framed: bytes) -> bytes:
    chunks: list[bytes] = []
    start = 0
    while True:
        line_end = framed.index(b"\r\n", start)
        size = int(framed[start:line_end].partition(b";")[0], 16)
        if not size:
            return b"".join(chunks)
        start = line_end + 2
        chunks.append(framed[start : start + size])
        start += size + 2
