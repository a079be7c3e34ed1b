"""What a call of ours is answered, as facts from which the text is written.

A remembered answer is written again from the request's own catalog, so that a tool which
is no longer sent or admitted does not come back.
"""

from typing import Literal

import msgspec

from app.core import wording
from app.core.body import Body
from app.core.codec import Json, encode
from app.core.terms import Terms
from app.core.tools import Tool

Kind = Literal["found", "unread", "spent", "unknown", "direct", "unwrapped"]
"""A search that was made; one that said nothing; one past the cap. A name that means no
tool; a direct tool called through the wrapper; a wrapped call that cannot be read."""
To = Literal["bridge", "wrapper", "tool"]
"""Whose call it was: ours keep their name whatever that is in the next request."""


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The facts of an answer."""

    kind: Kind
    to: To = "bridge"
    names: tuple[str, ...] = ()
    """The tools found, best first; or the names that are close."""
    unmatched: tuple[str, ...] = ()
    """The queries that nothing matched."""
    truncated: bool = False
    """The budget had no room for more."""
    last: bool = False
    """There are no more searches in this turn."""
    name: str = ""
    """The name that was called."""
    shows: bool = False
    """The search was never made: it is there to show these tools."""
    ranks: dict[str, list[int]] = {}
    """For each ranker that was asked the place it gave each of `names`, 0 for none: what a
    later call of one of them says about the ranker."""

    @property
    def is_sound(self) -> bool:
        """Whether every ranker has a place for every name, for what comes out of a store."""
        return all(len(ranks) == len(self.names) for ranks in self.ranks.values())

    def text(self, terms: Terms) -> str:
        """The content of the tool message."""
        match self.kind:
            case "found":
                return self._found(terms)
            case "unread":
                return _note(wording.HOW_TO_SEARCH.format(families=terms.shape.families))
            case "spent":
                return _note(wording.NO_MORE_SEARCHES)
            case "unknown":
                return self._unknown(terms)
            case "direct":
                return wording.CALL_DIRECTLY.format(name=self.name)
            case "unwrapped":
                return wording.HOW_TO_CALL.format(bridge=terms.bridge)

    def references(self, terms: Terms) -> list[Json]:
        """The tools found, for an upstream that loads what a result refers to: the form of
        https://github.com/vllm-project/vllm/pull/40190."""
        found = self.visible(terms) if terms.refers and self.kind == "found" else []
        return [{"type": "tool_reference", "name": name} for name in found]

    def visible(self, terms: Terms) -> list[str]:
        """The tools found that are still to be found. What `tool_choice` allows is no matter
        here: it may not change what was said."""
        return [name for name in self.names if name in terms.shape.deferred]

    def _found(self, terms: Terms) -> str:
        names = self.visible(terms)
        tools = [terms.shape.deferred[name] for name in names if terms.declarable(name)]
        barred = [f"`{name}`" for name in names if not terms.declarable(name)]
        found = wording.FOUND_WRAPPED if terms.wraps else wording.FOUND
        notes = (
            (found.format(wrapper=terms.wrapper), bool(tools)),
            (wording.NOTHING, not names),
            (wording.UNAVAILABLE.format(names=", ".join(barred)), bool(barred)),
            (wording.SOME_UNMATCHED, bool(tools and self.unmatched)),
            (wording.TRUNCATED, self.truncated),
            (wording.LAST_SEARCH, self.last),
        )
        note = " ".join(note for note, applies in notes if applies)
        entries = b",".join(_entry(tool, terms) for tool in tools)
        said = (entries, encode(self.unmatched), encode(note))
        return (b'{"tools":[%b],"unmatched":%b,"note":%b}' % said).decode()

    def _unknown(self, terms: Terms) -> str:
        close = [name for name in self.names if terms.is_visible(name)]
        sentences = [wording.UNKNOWN.format(name=self.name)]
        if close:
            sentences.append(wording.CLOSE.format(names=", ".join(f"`{one}`" for one in close)))
        if terms.shape.deferred:
            sentences.append(wording.USE_SEARCH.format(bridge=terms.bridge))
        return " ".join(sentences)


def _entry(tool: Tool, terms: Terms) -> bytes:
    """A tool as an answer shows it: whole where no declaration follows."""
    if terms.wraps:
        function = Body(tool.raw).get("function")
        assert function is not None, "only functions are deferred with this strategy"
        return function
    return encode({"name": tool.name, "description": tool.description})


def _note(text: str) -> str:
    return encode({"tools": [], "unmatched": [], "note": text}).decode()
