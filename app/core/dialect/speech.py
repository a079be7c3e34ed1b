"""One request to a model that speaks tools as text, and its reply. No I/O.

The driver sends `next_request()` until it returns None, and passes what comes back through
`receive()`. There is a second request where the first reply lacks what the client requires:
a call, or JSON. Then the client is told of the second reply only.
"""

from collections.abc import Sequence
from hashlib import sha256

from app.core.body import Body, Malformed
from app.core.chunks import DONE, END, Chunk, dicts, usage_of
from app.core.codec import Json
from app.core.dialect import jsontag, pformat
from app.core.dialect.request import Rendered, overheard, render
from app.core.dialect.said import Known, Said
from app.core.dialect.scanner import Scanner
from app.core.policy import Dialect
from app.core.reply import added
from app.core.tools import Tool


def nothing(_: str) -> Tool | None:
    """No tool besides those that the request declares."""
    return None


class Speech:
    """The state of one request."""

    def __init__(self, request: bytes, dialect: Dialect, beyond: Known = nothing) -> None:
        """`native`: only calls that were written as text are read. Raises BadRequest."""
        self._rendered = _rendered(request, dialect, beyond)
        self._seed = _seed(request)
        self._next: bytes | None = self._rendered.body
        self._demand = self._rendered.demand
        self._reading = _Reading(self._rendered, self._seed)
        self._held: list[Chunk] = []
        self._first: list[Chunk] = []
        """A reply that lacks something, as long as there is no other."""
        self._spent: Json = {}

    def next_request(self) -> bytes | None:
        """The body to send; None when the reply is complete."""
        following, self._next = self._next, None
        return following

    def receive(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """What the client's side gets of what has just come."""
        told = [told for chunk in chunks for told in self._reading.read(chunk)]
        if self._demand is None:
            self._first = [] if told else self._first
            return [_with_usage(chunk, self._spent) for chunk in told] if self._spent else told
        self._held += told
        if self._reading.has_called or (self._demand == "json" and self._reading.begins_json):
            self._demand = None
            held, self._held = self._held, []
            return held
        if any(chunk is DONE or chunk is END for chunk in chunks):
            self._try_again()
        return []

    def give_up(self) -> list[Chunk]:
        """The first reply, where the second request has failed and nothing else was told."""
        first, self._first = self._first, []
        return first

    def _try_again(self) -> None:
        self._demand = None
        self._next = self._rendered.again(self._reading.text)
        self._first, self._held = self._held, []
        self._spent = self._reading.usage
        self._reading = _Reading(self._rendered, self._seed)


class _Reading:
    """One reply, read."""

    def __init__(self, rendered: Rendered, seed: bytes) -> None:
        self.usage: Json = {}
        self._rendered = rendered
        self._seed = seed
        self._choices: dict[int, _Choice] = {}
        self._frame: Json = {}
        self._is_over = False

    @property
    def has_called(self) -> bool:
        return any(choice.called for choice in self._choices.values())

    @property
    def text(self) -> str:
        return "".join(choice.text for choice in self._choices.values())

    @property
    def begins_json(self) -> bool:
        return self.text.lstrip()[:1] in ("{", "[")

    def read(self, chunk: Chunk) -> list[Chunk]:
        """A chunk, as far as it can be told, and what was held back before it."""
        if self._rendered.known is None:
            return [chunk]
        if chunk is DONE or chunk is END:
            rest = [] if self._is_over else self._rest(chunk is DONE)
            self._is_over = True
            return [*rest, chunk]
        self.usage = usage_of(chunk.data) or self.usage
        choices = list(dicts(chunk.data.get("choices")))
        if not choices:
            return [chunk]
        self._frame = {k: v for k, v in chunk.data.items() if k not in ("choices", "usage")}
        told = [self._choice(choice).read(choice) for choice in choices]
        if all(new is old for new, old in zip(told, choices, strict=True)):
            return [chunk]
        if not any(map(_says, told)) and not usage_of(chunk.data):
            return []
        return [Chunk({**chunk.data, "choices": told})]

    def _choice(self, choice: Json) -> "_Choice":
        index = choice.get("index")
        index = index if type(index) is int else 0
        if index not in self._choices:
            self._choices[index] = _Choice(self._rendered, self._seed + b"%d" % index)
        return self._choices[index]

    def _rest(self, complete: bool) -> list[Chunk]:
        """What is left of choices whose end did not come."""
        rest = [
            {"index": index, **told}
            for index, choice in self._choices.items()
            if (told := choice.rest(complete))
        ]
        return [Chunk({**self._frame, "choices": rest})] if rest else []


class _Choice:
    """One choice of a reply."""

    def __init__(self, rendered: Rendered, seed: bytes) -> None:
        self.called = 0
        self.text = ""
        known = rendered.known
        assert known is not None, "only replies that are read have choices"
        syntax = jsontag if rendered.dialect == "json_tag" else pformat
        self._scanner = Scanner(lambda body: syntax.read(body, known), rendered.stops)
        self._rendered = rendered
        self._seed = seed
        self._native = False
        self._ended = False

    def read(self, choice: Json) -> Json:
        """The choice of one chunk with calls in the place of their text."""
        delta = choice.get("delta")
        if not isinstance(delta, dict) or self._ended:
            return choice
        before = self.called
        delta = self._renumbered(delta)
        content, finish = delta.get("content"), choice.get("finish_reason")
        own = content if isinstance(content, str) else ""
        pieces: list[str | Said] = [own]
        if own and not self._native:
            pieces = self._scanner.feed(own)
        if finish:
            self._ended = True
            pieces += self._scanner.end()
        told = self._told(delta, own, pieces)
        reason = self._reason(finish)
        if told is delta is choice["delta"] and reason == finish and before == self.called:
            return choice
        return {**choice, "delta": told, "finish_reason": reason}

    def rest(self, complete: bool) -> Json | None:
        """What is held back when nothing more comes, with the finish reason that is missing."""
        if self._ended:
            return None
        delta = self._told({}, "", self._scanner.end())
        missing = complete and self.called and not self._native
        if not delta and not missing:
            return None
        return {"delta": delta, "finish_reason": "tool_calls" if missing else None}

    def _told(self, delta: Json, own: str, pieces: list[str | Said]) -> Json:
        """The delta with what is told now of its words."""
        text = "".join(piece for piece in pieces if isinstance(piece, str))
        self.text += text
        calls = [call for piece in pieces if isinstance(piece, Said) for call in self._call(piece)]
        if text == own and not calls:
            return delta
        told = {key: value for key, value in delta.items() if key != "content"}
        if text or calls:
            told["content"] = text or None
        if calls:
            told["tool_calls"] = calls + list(dicts(delta.get("tool_calls")))
        return told

    def _call(self, said: Said) -> list[Json]:
        """A call as a stream has it; none where the client takes no more."""
        if self.called == self._rendered.most:
            return []
        at = self.called
        self.called += 1
        own = b"%d\0%b\0%b" % (at, _bytes(said.name), _bytes(said.arguments))
        inner = {
            "name": said.name,
            "input" if said.kind == "custom" else "arguments": said.arguments,
        }
        identifier = f"call_{sha256(self._seed + own).hexdigest()[:24]}"
        return [{"index": at, "id": identifier, "type": said.kind, said.kind: inner}]

    def _renumbered(self, delta: Json) -> Json:
        """The model's own calls, behind those that it has written. From then on its text is
        taken for text."""
        fragments = list(dicts(delta.get("tool_calls")))
        if not fragments:
            return delta
        self._native = True
        if not self.called:
            return delta
        moved = [
            {**one, "index": one["index"] + self.called} if type(one.get("index")) is int else one
            for one in fragments
        ]
        return {**delta, "tool_calls": moved}

    def _reason(self, finish: object) -> object:
        """How the reply ended: with calls, whatever the model thinks of it. As at OpenAI, a
        tool that the client has chosen is no reason."""
        if finish and self._scanner.stopped:
            finish = "stop"
        if finish == "stop" and self.called and not self._rendered.named:
            return "tool_calls"
        return finish


def _rendered(request: bytes, dialect: Dialect, beyond: Known) -> Rendered:
    """What cannot be read goes out as it is: the upstream's own error is the right one."""
    try:
        if dialect == "native":
            return overheard(request, beyond)
        return render(request, dialect, beyond)
    except (ValueError, RecursionError):
        return Rendered(request, "json_tag", None)


def _says(choice: Json) -> bool:
    return bool(choice.get("delta") or choice.get("finish_reason"))


def _with_usage(chunk: Chunk, spent: Json) -> Chunk:
    usage = usage_of(chunk.data)
    return Chunk({**chunk.data, "usage": added(spent, usage)}) if usage else chunk


def _seed(request: bytes) -> bytes:
    """What makes the ids of a request's calls: the same conversation has the same ones."""
    try:
        return sha256(Body(request).get("messages") or b"").digest()
    except Malformed:
        return b""


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
