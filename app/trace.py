"""A request's place in a trace, and when it asked the upstream for what.

https://www.w3.org/TR/trace-context/: a `traceparent` is `00-<trace>-<parent>-<flags>`, in hex.
Without spans the client's headers go through untouched; with spans each upstream call gets a
span of its own, which the upstream sees as its parent.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from secrets import token_hex
from time import perf_counter

_PARENT = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL)
_NOTHING = re.compile(r"0+")
_CONTEXT = (b"traceparent", b"tracestate")
_SAMPLED = 1

Headers = list[tuple[bytes, bytes]]


@dataclass(slots=True)
class Call:
    """One request to the upstream. Times are of `perf_counter`."""

    span_id: str = ""
    began: float = 0.0
    first_chunk: float = 0.0
    """The first part of the reply's body came (0: not yet); some servers send a head long
    before."""
    ended: float = 0.0
    status: int = 0
    error: str | None = None

    def begin(self) -> None:
        """The request is sent."""
        self.began = perf_counter()

    def answer(self, status: int) -> None:
        """The head of its reply has come."""
        self.status = status

    def receive(self) -> None:
        """A part of its body has come."""
        if not self.first_chunk:
            self.first_chunk = perf_counter()

    def end(self) -> None:
        """The reply is over, or given up."""
        self.ended = perf_counter()


class Trace:
    """One request's."""

    __slots__ = ("calls", "parent", "sampled", "span_id", "state", "trace_id")

    def __init__(self, headers: Iterable[tuple[bytes, bytes]] = (), *, spans: bool = False) -> None:
        """`spans`: there is a span for the request and for each call, to be told of later."""
        context = [header for header in headers if header[0] in _CONTEXT]
        self.trace_id, self.parent, self.sampled = _read(context) if context else ("", "", True)
        self.state = "" if not self.parent else _joined(context)
        self.calls: list[Call] = []
        self.span_id = ""
        """Of the request; "" where there are no spans."""
        if spans:
            self.trace_id = self.trace_id or token_hex(16)
            self.span_id = token_hex(8)

    def call(self) -> Call:
        """A call of the upstream, about to be made."""
        now = perf_counter()
        call = Call(token_hex(8) if self.span_id else "", began=now, ended=now)
        self.calls.append(call)
        return call

    def headers(self, headers: Headers, call: Call) -> Headers:
        """The headers of a call, with our span as the parent of what the upstream does."""
        if not call.span_id:
            return headers
        dropped = _CONTEXT if not self.parent else _CONTEXT[:1]
        parent = f"00-{self.trace_id}-{call.span_id}-{int(self.sampled):02x}"
        kept = [header for header in headers if header[0] not in dropped]
        return [*kept, (b"traceparent", parent.encode())]


def _read(context: Headers) -> tuple[str, str, bool]:
    """Trace, parent and whether it is sampled; an invalid header is as good as none."""
    parents = [value for name, value in context if name == b"traceparent"]
    match = _PARENT.fullmatch(parents[0].strip()) if len(parents) == 1 else None
    if match is None or match[1] == b"ff" or (match[1] == b"00" and match[5]):
        return "", "", True
    trace, parent = match[2].decode(), match[3].decode()
    if _NOTHING.fullmatch(trace) or _NOTHING.fullmatch(parent):
        return "", "", True
    return trace, parent, bool(int(match[4], 16) & _SAMPLED)


def _joined(context: Headers) -> str:
    return ",".join(v.decode("latin-1") for name, v in context if name == b"tracestate")
