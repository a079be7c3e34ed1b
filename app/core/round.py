"""One upstream reply, held back until it is known whom it is for.

Text leaves at once. A call leaves as soon as its name is settled and the client declared
it; everything behind a call that is still undecided waits, so that the order stays.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from app.core.address import Addressee
from app.core.answer import Answer
from app.core.bill import Played, read_usage
from app.core.calls import Call, Calls
from app.core.chunks import Chunk, dicts, joined, merge, usage_of
from app.core.codec import Json
from app.core.exchange import Exchange

_NAMES = ("id", "model")
_NEVER_ECHOED = frozenset({"role", "content", "tool_calls", "function_call", "annotations"})


class Entry(NamedTuple):
    """A chunk in the queue, with the call that each of its fragments belongs to."""

    chunk: Chunk
    calls: tuple[Call, ...]
    finish: str | None = None
    """The finish reason that it is told with, whatever its own: one chunk has it, the last
    that says something."""


class Round:
    """What has arrived of one upstream reply."""

    def __init__(self, addressee: Callable[[Call], Addressee]) -> None:
        self.calls = Calls()
        self.leaves: dict[Call, bool] = {}
        """For each decided call whether the client gets it."""
        self.usage: Json | None = None
        self._addressee = addressee
        self._finish: str | None = None
        self._is_closed = False
        self._queue: deque[Entry] = deque()
        self._message: Json = {}
        self._frame: Json = {}

    @property
    def is_empty(self) -> bool:
        """Nothing has come."""
        return not self._frame

    @property
    def is_silent(self) -> bool:
        """Neither a word nor a call has come."""
        return not self.text and not self.calls.all

    @property
    def has_finish(self) -> bool:
        """A finish reason has come. More may follow: some servers give one with every call."""
        return self._finish is not None

    def read(self, chunk: Chunk) -> None:
        """Take a chunk in."""
        data = chunk.data
        self.usage = usage_of(data) or self.usage
        calls: list[Call] = []
        for choice in dicts(data.get("choices")):
            self._frame = self._frame or data
            delta = choice.get("delta")
            if isinstance(delta, dict):
                calls += [self.calls.add(fragment) for fragment in dicts(delta.get("tool_calls"))]
                merge(self._message, delta, without="tool_calls")
            self._finish = self._finish or choice.get("finish_reason") or None
        self._queue.append(Entry(chunk, tuple(calls)))
        if calls:
            self._decide()

    def read_words(self, chunk: Chunk) -> bool:
        """Take in a chunk that is one more piece of text, where nothing waits: most of a
        stream is that. False: it is something else, and has not been taken in."""
        choices = chunk.data.get("choices")
        if self._queue or not choices or len(choices) != 1 or chunk.data.get("usage"):
            return False
        choice = choices[0]
        if type(choice) is not dict or choice.get("finish_reason") or choice.get("index"):
            return False
        delta = choice.get("delta")
        if type(delta) is not dict or len(delta) != 1 or type(delta.get("content")) is not str:
            return False
        merge(self._message, delta)
        return True

    def ready(self) -> Iterator[Entry]:
        """The chunks from the head of the queue whose calls are all decided. What comes with
        a finish reason or behind it waits for the end."""
        while self._queue and (self._is_closed or self._finish is None):
            if not all(call in self.leaves for call in self._queue[0].calls):
                return
            yield self._queue.popleft()

    def end(self) -> None:
        """All has arrived: every name is settled."""
        self.calls.settle()
        self._decide()

    def close(self, *, hidden: bool) -> None:
        """Every call is decided. A round that the client sees ends with one finish reason:
        its first, or the one that was left out; `stop` where the calls were not for it."""
        self._is_closed = True
        if hidden or self.is_empty:
            return
        leaving = any(self.leaves.values())
        reason = self._finish or ("tool_calls" if leaving else "stop")
        if self.calls.all and not leaving and reason == "tool_calls":
            reason = "stop"
        said = [at for at, e in enumerate(self._queue) if e.chunk.data.get("choices")]
        if said:
            self._queue[said[-1]] = self._queue[said[-1]]._replace(finish=reason)
            return
        frame = {k: v for k, v in self._frame.items() if k != "usage"}
        last = Chunk({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": None}]})
        self._queue.append(Entry(last, (), reason))

    def addressed(self, *whom: Addressee) -> list[Call]:
        """The settled calls for these addressees, in order."""
        return [c for c in self.calls.all if c.settled and self._addressee(c) in whom]

    @property
    def played(self) -> Played:
        """This round, as it is told of to the operator."""
        id, model = (v if isinstance(v := self._frame.get(key), str) else "" for key in _NAMES)
        return Played(id, model, self._finish, read_usage(self.usage))

    @property
    def text(self) -> str:
        """What the model has said in words."""
        content = joined(self._message).get("content")
        return content if isinstance(content, str) else ""

    def finish(self) -> None:
        """Add the finish reason of an upstream that said all and forgot to say how."""
        if self.has_finish or not self._frame:
            return
        reason = "tool_calls" if any(self.leaves.values()) else "stop"
        frame = {k: v for k, v in self._frame.items() if k != "usage"}
        choice = {"index": 0, "delta": {}, "finish_reason": reason}
        self._queue.append(Entry(Chunk({**frame, "choices": [choice]}), ()))

    def exchange(self, given: Mapping[Call, Answer]) -> Exchange:
        """This round as it goes into the conversation; calls that the client answers stay
        open."""
        calls, answers = [], []
        for position, call in enumerate(self.calls.all):
            answer = given.get(call)
            if answer is None and not self.leaves.get(call):
                continue
            message = call.as_real() if answer is None and call.inner else call.as_message()
            calls.append({**message, "id": message["id"] or f"call_{position}"})
            answers.append(answer)
        return Exchange(self.said, calls, answers)

    @property
    def said(self) -> Json:
        """The assistant message that goes back to the upstream, but for its calls: reasoning
        and signatures must come back as they were. Its content is a string because some
        servers fail on null and on none."""
        said = joined(self._message)
        beside = {k: v for k, v in said.items() if k not in _NEVER_ECHOED and v not in _EMPTY}
        return {"content": self.text, **beside}

    def _decide(self) -> None:
        """Calls whose name says whom they are for. The others are judged at the end."""
        for call in self.calls.all:
            if call.settled and call not in self.leaves:
                whom = self._addressee(call)
                if whom in ("client", "search"):
                    self.leaves[call] = whom == "client"


_EMPTY: tuple[object, ...] = (None, "", [], {})
