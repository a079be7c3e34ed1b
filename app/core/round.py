"""One upstream reply, held back until it is known whom it is for.

Text leaves at once. A call leaves as soon as its name is settled and the client declared
it; everything behind a call that is still undecided waits, so that the order stays.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from app.core.address import Addressee
from app.core.calls import Call, Calls
from app.core.chunks import DONE, Chunk, dicts, joined, merge
from app.core.codec import Json

_NEVER_ECHOED = frozenset({"role", "content", "tool_calls", "function_call", "annotations"})


class Entry(NamedTuple):
    """A chunk in the queue, with the call that each of its fragments belongs to."""

    chunk: Chunk
    calls: tuple[Call, ...]


class Round:
    """What has arrived of one upstream reply."""

    def __init__(self, addressee: Callable[[Call], Addressee]) -> None:
        self.calls = Calls()
        self.leaves: dict[Call, bool] = {}
        """For each decided call whether the client gets it."""
        self.usage: Json | None = None
        self.is_over = False
        """A finish reason has come, or the word that all is said."""
        self.has_finish = False
        self._addressee = addressee
        self._queue: deque[Entry] = deque()
        self._message: Json = {}
        self._frame: Json = {}

    def read(self, chunk: Chunk) -> None:
        """Take a chunk in."""
        if chunk is DONE:
            self._end()
            return
        data = chunk.data
        self.usage = data.get("usage") or self.usage
        calls: list[Call] = []
        for choice in dicts(data.get("choices")):
            self._frame = self._frame or data
            delta = choice.get("delta")
            if isinstance(delta, dict):
                calls += [self.calls.add(fragment) for fragment in dicts(delta.get("tool_calls"))]
                merge(self._message, delta, without="tool_calls")
            if choice.get("finish_reason"):
                self.has_finish = True
        self._queue.append(Entry(chunk, tuple(calls)))
        if self.has_finish:
            self._end()
        elif calls:
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
        """The chunks from the head of the queue whose calls are all decided."""
        while self._queue and all(call in self.leaves for call in self._queue[0].calls):
            yield self._queue.popleft()

    def addressed(self, *whom: Addressee) -> list[Call]:
        """The settled calls for these addressees, in order."""
        return [c for c in self.calls.all if c.settled and self._addressee(c) in whom]

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

    @property
    def said(self) -> Json:
        """The assistant message that goes back to the upstream, but for its calls: reasoning
        and signatures must come back as they were. Its content is a string because some
        servers fail on null and on none."""
        said = joined(self._message)
        beside = {k: v for k, v in said.items() if k not in _NEVER_ECHOED and v not in _EMPTY}
        return {"content": self.text, **beside}

    def _end(self) -> None:
        self.is_over = True
        self.calls.settle()
        self._decide()

    def _decide(self) -> None:
        """Calls whose name says whom they are for. The others are judged at the end."""
        for call in self.calls.all:
            if call.settled and call not in self.leaves:
                whom = self._addressee(call)
                if whom in ("client", "search"):
                    self.leaves[call] = whom == "client"


_EMPTY: tuple[object, ...] = (None, "", [], {})
