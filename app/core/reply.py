"""The one reply that the rounds of a turn add up to.

The client sees one id, one role, one finish reason, calls numbered without gaps, and the
usage of all rounds. A chunk that needs no change is told as the bytes that came.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from app.core.calls import Call
from app.core.chunks import Chunk, dicts, usage_of
from app.core.codec import Json
from app.core.round import Entry

_SIGNATURE = "extra_content"
"""Where Gemini signs a call. The first call of a message must carry it."""


class Reply:
    """What the client has been told so far."""

    def __init__(self) -> None:
        self.begun = False
        """The client has been told something that matters."""
        self.told: dict[Call, int] = {}
        """The calls of this round that have left, with their index."""
        self.spent: Json = {}
        """Usage of the rounds before this one."""
        self._first = True
        self._identity: Json = {}
        self._preface: list[Chunk] = []
        self._role_told = False
        self._repeat = ""
        self._swallowed = ""

    @property
    def takes_words(self) -> bool:
        """Whether a piece of text can be told as it is."""
        return self.begun and self._first

    def next_round(self, usage: Json | None, repeat: str = "") -> None:
        """The round before this one is over and the client does not know that it was one.
        A text that it may say again, since it is played again, is told once."""
        self.spent = added(self.spent, usage)
        self.told = {}
        self._first = False
        self._repeat, self._swallowed = repeat, ""

    def tell(self, entry: Entry, leaves: Mapping[Call, bool], *, hidden: bool) -> list[Chunk]:
        """The chunks that the client may see once this entry of the round is decided.
        `hidden`: the turn goes on behind this round."""
        chunk = self._with_identity(entry.chunk)
        calls = iter(entry.calls)
        choices = list(dicts(chunk.data.get("choices")))
        told = [self._choice(choice, calls, leaves, entry.finish) for choice in choices]
        changes: Json = {}
        if any(new is not old for new, old in zip(told, choices, strict=True)):
            changes["choices"] = told
        usage = usage_of(chunk.data)
        if usage and hidden:
            changes["usage"] = None
        elif usage and self.spent:
            changes["usage"] = added(self.spent, usage)
        matters = any(map(_matters, told)) or bool(usage and not hidden and not choices)
        return self._in_order(Chunk({**chunk.data, **changes}) if changes else chunk, matters)

    def rest(self) -> list[Chunk]:
        """What still waits when the turn is over."""
        waiting, self._preface = self._preface, []
        return waiting

    def _in_order(self, chunk: Chunk, matters: bool) -> list[Chunk]:
        """What says nothing yet (a role) waits for what does, so that a refusal of a later
        round can still have its status."""
        if matters:
            waiting, self._preface, self.begun = self._preface, [], True
            return [*waiting, chunk]
        if self.begun:
            return [chunk] if self._first else []
        if self._first or not self._preface:
            self._preface.append(chunk)
        return []

    def _with_identity(self, chunk: Chunk) -> Chunk:
        if self._first:
            if not self._identity:
                keys = ("id", "created")
                self._identity = {k: chunk.data[k] for k in keys if k in chunk.data}
            return chunk
        same = all(chunk.data.get(key) == value for key, value in self._identity.items())
        return chunk if same else Chunk({**chunk.data, **self._identity})

    def _choice(
        self, choice: Json, calls: Any, leaves: Mapping[Call, bool], finish: str | None
    ) -> Json:
        changes: Json = {}
        delta = choice.get("delta")
        if isinstance(delta, dict):
            told = self._delta(delta, calls, leaves)
            if told is not delta:
                changes["delta"] = told
        own = choice.get("finish_reason")
        if (own or finish) and own != finish:
            changes["finish_reason"] = finish
        if choice.get("index", 0) != 0:  # one choice was asked for, some servers count chunks
            changes["index"] = 0
        return {**choice, **changes} if changes else choice

    def _delta(self, delta: Json, calls: Any, leaves: Mapping[Call, bool]) -> Json:
        out = delta
        if delta.get("role") and not self._first and self._role_told:
            out = {k: v for k, v in out.items() if k != "role"}
        self._role_told = self._role_told or bool(delta.get("role"))
        if self._repeat and isinstance(content := delta.get("content"), str):
            out = {**out, "content": self._unrepeated(content)}
        if fragments := list(dicts(delta.get("tool_calls"))):
            pairs = zip(fragments, calls, strict=False)
            told = (self._fragment(f, call, leaves) for f, call in pairs if leaves[call])
            kept = [fragment for fragment in told if fragment is not None]
            if list(map(id, kept)) != list(map(id, fragments)):
                # Some servers say the first call again in the form of `functions`.
                out = {k: v for k, v in out.items() if k not in ("tool_calls", "function_call")}
                out |= {"tool_calls": kept} if kept else {}
        return out

    def _fragment(self, fragment: Json, call: Call, leaves: Mapping[Call, bool]) -> Json | None:
        """A fragment of a call that leaves: numbered without gaps; its id and its whole name
        come first and once. A wrapped call leaves as the real one, whole."""
        if call.inner is not None and call in self.told:
            return None
        inner = fragment.get(call.kind)
        inner = inner if isinstance(inner, dict) else {}
        changes: Json = {}
        if call not in self.told:
            signature = {} if self.told else _signature(call, leaves)
            self.told[call] = len(self.told)
            if call.inner is not None:
                changes = call.as_real()
            elif (fragment.get("id") or "", inner.get("name")) != (call.id, call.name):
                changes = {"id": call.id, "type": call.kind, call.kind: inner | {"name": call.name}}
            changes |= signature
        elif fragment.get("id") or inner.get("name"):
            kept = {k: v for k, v in fragment.items() if k not in ("id", "type")}
            fragment = {**kept, call.kind: {k: v for k, v in inner.items() if k != "name"}}
        if fragment.get("index") != self.told[call]:
            changes["index"] = self.told[call]
        return {**fragment, **changes} if changes else fragment

    def _unrepeated(self, text: str) -> str:
        """Words without those that a round played again repeats. Where it says something
        else, all that it says is told."""
        if self._repeat.startswith(text):
            self._repeat = self._repeat[len(text) :]
            self._swallowed += text
            return ""
        repeats = text.startswith(self._repeat)
        told = text[len(self._repeat) :] if repeats else self._swallowed + text
        self._repeat = ""
        return told


def unrepeated(text: str, repeat: str) -> str:
    """What of a round's words is told where it may repeat those of the round before it."""
    if repeat.startswith(text):
        return ""
    return text[len(repeat) :] if text.startswith(repeat) else text


def added(usage: Json, more: Json | None) -> Json:
    """The sum of two usages, details too. What is not a number is the later one's."""
    total = dict(usage)
    for key, value in (more or {}).items():
        before = total.get(key)
        if isinstance(value, dict) and isinstance(before, dict | None):
            total[key] = added(before or {}, value)
        elif _is_number(value) and _is_number(before):
            total[key] = before + value
        elif value is not None or before is None:
            total[key] = value
    return total


def _is_number(value: object) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _matters(choice: Json) -> bool:
    """Whether a choice says anything besides whose turn it is."""
    if choice.get("finish_reason"):
        return True
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        return False
    return any(value not in (None, "", [], {}) for key, value in delta.items() if key != "role")


def _signature(call: Call, leaves: Mapping[Call, bool]) -> Json:
    """The signature of a hidden call that came first, for the call that is now the first."""
    if _SIGNATURE in call.extra:
        return {}
    first = next(iter(leaves), call)
    signature = first.extra.get(_SIGNATURE) if not leaves.get(first, True) else None
    return {} if signature is None else {_SIGNATURE: signature}
