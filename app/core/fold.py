"""The request as the upstream will see it, ready for its rounds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from app.core.body import Body
from app.core.choice import read_choice
from app.core.codec import encode
from app.core.conversation import Conversation, extended, instructed
from app.core.declared import declarations, demanded, fitted
from app.core.exchange import Exchange
from app.core.memory import Record
from app.core.policy import Policy
from app.core.restore import restore
from app.core.shape import Shape
from app.core.terms import Terms, our_names
from app.core.tools import Tool, parse
from app.core.traits import DEFAULT, Traits
from app.core.wording import BARE

_LIMITS = ("max_completion_tokens", "max_tokens")


@dataclass(frozen=True, slots=True)
class Fold:
    """The request as the upstream will see it, ready for its rounds."""

    body: Body
    messages: bytes
    """The client's, with our exchanges where they were."""
    context: bytes
    """A digest of what has been said so far."""
    terms: Terms
    bridge: bytes
    promoted: tuple[str, ...]
    """Deferred tools that are declared from the start, in order."""
    found: Mapping[str, Mapping[str, int]]
    """Tools that a search of an earlier turn has found, with the ranks it gave them."""
    called: frozenset[str]
    """Tools that the history calls."""
    kept: frozenset[str]
    """Promoted tools that are declared whatever else is."""
    room: int
    """Promoted tools that the upstream takes."""
    wrapper: bytes
    reason: str
    restored: tuple[Exchange, ...]
    """Our exchanges of earlier turns, as they stand in the messages."""
    may_unfold: bool
    """Whether the client's own request could be sent: nothing may be hidden, and it has no more
    tools than an upstream takes."""
    under: Callable[[Traits, frozenset[str]], "Fold"]
    """The same request for an upstream of which more is known, without these tools."""

    @property
    def sent(self) -> int:
        """Tokens of the tools declared in the first round."""
        shape = self.terms.shape
        return shape.sent + sum(shape.tokens(shape.deferred[name]) for name in self.promoted)

    @property
    def declared(self) -> list[tuple[str, str]]:
        """Names of the tools declared in the first round, in order, and why they are."""
        shape = self.terms.shape
        ours = [(self.terms.bridge, "the search")] if shape.deferred else []
        if self.terms.wraps and ours:
            ours.append((self.terms.wrapper, "calls what is found"))
        direct = [(tool.name, "direct") for tool in shape.direct]
        return [*direct, *ours, *((name, self._why(name)) for name in self.promoted)]

    def _why(self, promoted: str) -> str:
        if promoted in self.called:
            return "the history calls it"
        if promoted in self.terms.choice.names:
            return "`tool_choice` names it"
        if promoted in self.found:
            return "an earlier search found it"
        return "the last tool, since a call is required"

    def reaches(self, name: str) -> Tool | None:
        """The tool that a call may name though it is not declared: a deferred one, or ours
        when it may not be used any more."""
        ours = {self.terms.bridge: self.bridge, self.terms.wrapper: self.wrapper}
        raw = ours.get(name) if self.terms.shape.deferred else None
        return parse(raw, 0) if raw else self.terms.reaches(name)

    def request(
        self,
        promoted: Sequence[str],
        exchanges: Iterable[Exchange],
        *,
        searching: bool = True,
        calling: bool = True,
        spent: int = 0,
    ) -> bytes:
        """The body of one round: these tools promoted, these exchanges made, so many
        completion tokens of the client's limit used. Without `searching` the bridge is not
        declared; without `calling` no call may be made."""
        terms = self.terms
        if not calling and not terms.traits.takes_none:  # then nothing is left to search with,
            searching = not (terms.shape.direct or promoted)  # but there has to be a tool
        declared = [tool.raw for tool in terms.shape.direct]
        if terms.shape.deferred:
            declared += [self.bridge] if searching else []
            declared += [self.wrapper] if terms.wraps else []
        exchanges = list(exchanges)
        declared += declarations(promoted, terms, self._referred(exchanges))
        added = [message for exchange in exchanges for message in exchange.messages(terms)]
        members = {
            "tools": b"[" + b",".join(declared) + b"]",
            "messages": extended(self.messages, added),
        } | self._limits(spent)
        if not declared:
            body = Body(self.body.splice(members))
            return body.without("tools", "tool_choice", "parallel_tool_calls")
        if not calling:
            members |= {"tool_choice": b'"none"'} if terms.traits.takes_none else {}
        elif terms.choice.kind == "allowed" and terms.choice.value is not None:
            names = self._allowed(promoted, searching)
            allowed = terms.choice.allowing(names, terms.choice.value) if names else "none"
            members["tool_choice"] = encode(allowed)
        return self.body.splice(members)

    def unfolded(self) -> bytes:
        """The client's own request: its very bytes, unless it holds marks, which upstreams
        refuse, or a schema that is over its budget."""
        shape = self.terms.shape
        if not (shape.is_budgeted or shape.opted_in):
            return self.body.splice({})
        ruled = zip(shape.tools, shape.rulings, strict=True)
        tools = [tool.raw for tool, ruling in ruled if ruling.exposure != "hidden"]
        return self.body.splice({"tools": b"[" + b",".join(tools) + b"]"})

    def promoting(self, promoted: Iterable[str], more: Iterable[str]) -> list[str]:
        """The promoted tools with more of them; where an upstream takes no more, the oldest
        that were only found go, and the last of the new do not come."""
        if self.terms.wraps:
            return list(promoted)
        needed = self.kept.intersection(promoted)
        new = [n for n in more if self.terms.declarable(n)][: max(self.room - len(needed), 1)]
        names = dict.fromkeys((*promoted, *new))
        return fitted(names, self.kept.union(new), self.room)

    def carrying(self, promoted: Iterable[str]) -> list[str]:
        """Its promoted tools with those of another form of this request, where the upstream
        takes them."""
        added = filter(self.terms.declarable, promoted)
        return fitted(dict.fromkeys((*self.promoted, *added)), self.kept, self.room)

    def _referred(self, exchanges: Iterable[Exchange]) -> set[str]:
        """The tools that a result loads."""
        if not self.terms.refers:
            return set()
        return {name for one in (*self.restored, *exchanges) for name in one.found}

    def _allowed(self, promoted: Sequence[str], searching: bool) -> list[str]:
        terms = self.terms
        names = [n for n in terms.choice.names if n in promoted or terms.is_direct(n)]
        if not terms.shape.deferred:
            return names
        ours = [terms.bridge] if searching else []
        return [*names, *ours, *([terms.wrapper] if terms.wraps else [])]

    def _limits(self, spent: int) -> dict[str, bytes]:
        """The client's limit spans the turn. Zero is not a limit that upstreams take."""
        if not spent:
            return {}
        limits = ((name, self.body.value(name)) for name in _LIMITS)
        return {
            name: encode(max(limit - spent, 1)) for name, limit in limits if isinstance(limit, int)
        }


def fold(
    body: Body,
    policy: Policy,
    shape: Shape,
    reason: str,
    conversation: Conversation,
    records: Mapping[str, Record] = MappingProxyType({}),
    traits: Traits = DEFAULT,
    barred: frozenset[str] = frozenset(),
) -> Fold:
    """The request as an upstream of these traits will see it. `records`: what is remembered of
    its turns. `barred`: tools that it has refused."""
    choice = read_choice(body.value("tool_choice"))
    bridge, wrapper = our_names(shape, conversation.called, traits)
    speaks = policy.strategy != "native" or policy.dialect == "native"
    strategy = policy.strategy if speaks else "promote"  # a mark means nothing in a text
    terms = Terms(shape, choice, strategy, bridge, wrapper, traits, barred)
    restored = restore(conversation, records, terms)
    in_system = "system" in (policy.manifest_place, traits.manifest)
    longer = instructed(restored.raw, shape.manifest.text) if in_system else None
    listing = shape.manifest.text
    if longer is not None:
        listing = ""
    elif traits.manifest == "system":
        listing = BARE.format(count=len(shape.deferred))
    last, named = demanded(terms)
    kept = frozenset((*last, *named, *conversation.called))
    found = () if terms.wraps else restored.discovered
    promoted = [n for n in dict.fromkeys((*last, *found, *named)) if n in shape.deferred]
    promoted = [n for n in promoted if n in named or terms.declarable(n)]
    most = min(policy.max_tools, traits.most_tools or policy.max_tools)
    room = max(most - len(shape.direct) - 1 - terms.wraps, 1)
    return Fold(
        body=body,
        messages=restored.raw if longer is None else longer,
        context=conversation.context,
        terms=terms,
        bridge=shape.bridge_as(bridge, wrapper, listing=listing),
        wrapper=shape.wrapper_as(bridge, wrapper),
        promoted=tuple(fitted(promoted, kept, room)),
        kept=kept,
        room=room,
        found=restored.found,
        called=frozenset(conversation.called),
        reason=reason,
        restored=restored.exchanges,
        may_unfold=not policy.may_hide and len(shape.deferred) <= room + 1 + terms.wraps,
        under=partial(fold, body, policy, shape, reason, conversation, records),
    )
