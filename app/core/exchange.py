"""A hidden round, as it goes into the conversation: what the model said and what it was
answered. Kept as facts, and written into messages under the terms of each request."""

import re
from collections.abc import Sequence
from hashlib import sha256

import msgspec

from app.core.answer import Answer
from app.core.codec import Json, encode
from app.core.terms import Terms

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")


class Exchange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A round whose calls we have answered, or some of them."""

    said: Json
    """The assistant message but for its calls: content, reasoning, signatures."""
    calls: list[Json]
    answers: list[Answer | None]
    """One for each call; None for a call that the client answers."""

    @property
    def is_sound(self) -> bool:
        """Whether messages can be made of it, for what comes out of a store."""
        return (
            bool(self.calls)
            and len(self.calls) == len(self.answers)
            and not self.said.keys() & {"role", "tool_calls"}
            and all(_is_call(call) for call in self.calls)
            and all(answer is None or answer.is_sound for answer in self.answers)
        )

    def fits(self, terms: Terms) -> bool:
        """Whether it can be told of in this request: its tools are there, and what it shows
        of its own accord is not all hidden."""
        answers = [answer for answer in self.answers if answer is not None]
        if any(answer.to == "bridge" for answer in answers) and not terms.shape.deferred:
            return False
        if any(answer.to == "wrapper" for answer in answers) and not terms.wraps:
            return False
        if any(answer.kind == "direct" and terms.is_hidden(answer.name) for answer in answers):
            return False  # it was declared then: these would be our words
        return not any(a.shows and not a.visible(terms) for a in answers)

    def messages(self, terms: Terms) -> list[Json]:
        """The assistant message and the answers to it; none where it does not fit."""
        if not self.fits(terms):
            return []
        calls = [self.call(at, terms) for at in range(len(self.calls))]
        said = terms.traits.message(self.said)
        return [{"role": "assistant", **said, "tool_calls": calls}, *self.answered(terms)]

    def call(self, at: int, terms: Terms) -> Json:
        """A call: one of ours under the name that our tools have now, one of a tool that does
        not exist under a name that no upstream refuses."""
        call, answer = self.calls[at], self.answers[at]
        if answer is None:
            return call
        ours = {"bridge": terms.bridge, "wrapper": terms.wrapper}
        name = ours.get(answer.to) or _ILLEGAL.sub("_", call["function"]["name"])[:64] or "_"
        function = {**call["function"], "name": name}
        if answer.shows:
            function["arguments"] = _selecting(answer.visible(terms))
        return terms.traits.call({**call, "function": function}, first=not at)

    def answered(self, terms: Terms) -> list[Json]:
        """The tool messages that are ours to give."""
        return [
            self._result(at, answer, terms)
            for at, answer in enumerate(self.answers)
            if answer is not None
        ]

    def _result(self, at: int, answer: Answer, terms: Terms) -> Json:
        call = self.call(at, terms)
        named = {"name": call["function"]["name"]} if terms.traits.names_results else {}
        content = answer.references(terms) or answer.text(terms)
        return {"role": "tool", "tool_call_id": call["id"], **named, "content": content}

    @property
    def found(self) -> dict[str, dict[str, int]]:
        """The tools that its answers show, each with the rank that every ranker gave it."""
        return {
            name: {ranker: ranks[at] for ranker, ranks in answer.ranks.items()}
            for answer in self.answers
            if answer and answer.kind == "found"
            for at, name in enumerate(answer.names)
        }


def shown(
    names: Sequence[str], seed: bytes, said: Json | None = None, beside: Json | None = None
) -> Exchange:
    """A search that was never made, for a model that has to see these tools' schemas. The
    seed makes its id: the same conversation has the same one on every replica."""
    queries = _selecting(names)
    call = {
        "id": f"call_{sha256(queries.encode() + seed).hexdigest()[:24]}",
        "type": "function",
        "function": {"name": "", "arguments": queries},
        **(beside or {}),
    }
    answer = Answer("found", names=tuple(names), shows=True)
    return Exchange(said or {"content": ""}, [call], [answer])


def _selecting(names: Sequence[str]) -> str:
    return encode({"queries": [f"select:{name}" for name in names]}).decode()


def _is_call(call: Json) -> bool:
    function = call.get("function")
    return isinstance(call.get("id"), str) and (
        isinstance(function, dict) and isinstance(function.get("name"), str)
    )
