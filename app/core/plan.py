"""Is this request our business, and what goes upstream? Fast once the catalog is known."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from app.core.body import Body
from app.core.catalog import Catalog, is_empty
from app.core.choice import read_choice
from app.core.codec import encode
from app.core.conversation import Conversation, extended, instructed, last_request
from app.core.declared import declarations, demanded, fitted
from app.core.selfsearch import has_loaded
from app.core.exchange import Exchange
from app.core.memory import Record
from app.core.policy import Policy
from app.core.restore import restore
from app.core.shape import Shape
from app.core.terms import Terms, our_names
from app.core.traits import DEFAULT, Traits
from app.core.wording import BARE

_LIMITS = ("max_completion_tokens", "max_tokens")


@dataclass(frozen=True, slots=True)
class Relay:
    """Goes upstream byte for byte, and so does the reply."""

    reason: str


@dataclass(frozen=True, slots=True)
class Trim:
    """Several replies were asked for, which one loop cannot serve, with more tools than an
    upstream takes: the best of them are declared, and the reply is relayed."""

    body: bytes
    declared: int
    sent: int
    """Tokens of the tools declared."""
    reason: str


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
    found: frozenset[str]
    """Tools that a search of an earlier turn has found."""
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
        if not declared:
            return self.body.without("tools", "tool_choice", "parallel_tool_calls")
        added = [message for exchange in exchanges for message in exchange.messages(terms)]
        members = {
            "tools": b"[" + b",".join(declared) + b"]",
            "messages": extended(self.messages, added),
        }
        if not calling:
            members |= {"tool_choice": b'"none"'} if terms.traits.takes_none else {}
        elif terms.choice.kind == "allowed" and terms.choice.value is not None:
            allowed = terms.choice.allowing(self._allowed(promoted, searching), terms.choice.value)
            members["tool_choice"] = encode(allowed)
        return self.body.splice(members | self._limits(spent))

    @property
    def can_unfold(self) -> bool:
        """Whether the client's own request could be taken: it has no more tools than that."""
        return len(self.terms.shape.deferred) <= self.room + 1 + self.terms.wraps

    def unfolded(self) -> bytes:
        """The client's own request: its very bytes, unless it holds marks, which upstreams
        refuse, or tools that are hidden."""
        shape = self.terms.shape
        if not (shape.hides or shape.opted_in):
            return self.body.splice({})
        ruled = zip(shape.catalog.tools, shape.rulings, strict=True)
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

    def _referred(self, exchanges: Iterable[Exchange]) -> set[str]:
        """The tools that a result loads."""
        if not self.terms.refers:
            return set()
        return {name for one in (*self.restored, *exchanges) for name in one.shown}

    def _allowed(self, promoted: Sequence[str], searching: bool) -> list[str]:
        terms = self.terms
        names = [n for n in terms.choice.names if n in promoted or terms.is_direct(n)]
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


Plan = Relay | Trim | Fold


def open_request(raw: bytes, policy: Policy, known: Iterable[bytes] = ()) -> Body | Relay:
    """The request's members, or why no catalog could make it ours. Raises Malformed. `known`
    are `tools` arrays that have been compiled."""
    if policy.mode == "off":
        return Relay("mode-off")
    body = Body(raw, "tools", known)
    if is_empty(body.get("tools")):
        return Relay("no-tools")
    if "functions" in body:
        return Relay("legacy-functions")
    return body


def decide(body: Body, policy: Policy, shape: Shape) -> Relay | Trim | str:
    """What to do with a request that has tools; the reason where it is to be folded. Raises
    BadRequest for tools that no upstream takes where relaying them cannot help either."""
    catalog = shape.catalog
    too_many = catalog.count > policy.max_tools
    if catalog.fault is not None:
        if too_many:
            raise catalog.fault
        return Relay("tools-malformed")
    if "messages" not in body:
        return Relay("messages-malformed")
    if not shape.hides and (shape.searches or has_loaded(body.get("messages") or b"")):
        return Relay("client-searches")
    if body.value("n") not in (None, 1):
        return _trim(body, policy, shape) if too_many else Relay("several-choices")
    return _decision(policy, shape)


def _decision(policy: Policy, shape: Shape) -> str | Relay:
    """Does folding pay?"""
    if not shape.deferred:
        return "policy-hides" if shape.hides else Relay("nothing-to-defer")
    if shape.opted_in:
        return "client-defers"
    if policy.mode == "on":
        return "mode-on"
    if shape.catalog.count > policy.max_tools:
        return "too-many-tools"
    if shape.hides:
        return "policy-hides"
    if shape.deferrable < policy.min_tokens:
        return Relay("few-tokens")
    if shape.sent > (1 - policy.min_saving) * shape.offered:
        return Relay("small-saving")
    return "saves-tokens"


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
    terms = Terms(shape, choice, policy.strategy, bridge, wrapper, traits, barred)
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
        under=partial(fold, body, policy, shape, reason, conversation, records),
    )


def _trim(body: Body, policy: Policy, shape: Shape) -> Trim:
    catalog: Catalog = shape.catalog
    ranked = catalog.index.rank(last_request(body.get("messages") or b"[]"))
    order = dict.fromkeys([*(position for position, _ in ranked), *range(catalog.count)])
    direct = [at for at in order if shape.rulings[at].exposure == "direct"]
    deferred = [at for at in order if shape.rulings[at].exposure == "deferred"]
    kept = sorted((direct + deferred)[: policy.max_tools])
    tools = b"[" + b",".join(catalog.tools[at].raw for at in kept) + b"]"
    return Trim(
        body=body.splice({"tools": tools}),
        declared=len(kept),
        sent=sum(catalog.tokens[at] for at in kept),
        reason="several-choices",
    )
