"""Is this request our business, and what goes upstream? Fast once the catalog is known."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from app.core.body import Body
from app.core.catalog import Catalog, is_empty
from app.core.choice import read_choice
from app.core.codec import encode
from app.core.conversation import Conversation, extended, instructed, last_request
from app.core.declared import demanded, fitted
from app.core.exchange import Exchange
from app.core.exposure import WRAPPER_NAME
from app.core.gain import gain
from app.core.guard import check_members, guard, refusal
from app.core.memory import Record
from app.core.policy import Policy
from app.core.restore import restore
from app.core.shape import Shape, free_name
from app.core.terms import Terms
from app.core.tools import Tool, parse
from app.core.wrap import declaration

_LIMITS = ("max_completion_tokens", "max_tokens")


@dataclass(frozen=True, slots=True)
class Relay:
    """Goes upstream byte for byte, and so does the reply."""

    reason: str


@dataclass(frozen=True, slots=True)
class Trim:
    """Other tools than the client's are declared, and the reply is relayed. Several replies
    were asked for, which one loop cannot serve, with more tools than an upstream takes: the
    best of them are declared. Or folding does not pay, but a schema is over its budget."""

    body: bytes
    declared: int
    sent: int
    """Tokens of the tools declared."""
    reason: str


@dataclass(frozen=True, slots=True)
class Observe:
    """Goes upstream byte for byte; what folding would have sent is only said."""

    declared: int
    sent: int
    """Tokens of the tools that would have been declared."""
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
        declared = [tool.raw for tool in terms.shape.direct]
        if terms.shape.deferred:
            declared += [self.bridge] if searching else []
            declared += [self.wrapper] if terms.wraps else []
        declared += [terms.shape.deferred[name].raw for name in promoted]
        added = [message for exchange in exchanges for message in exchange.messages(terms)]
        members = {
            "tools": b"[" + b",".join(declared) + b"]",
            "messages": extended(self.messages, added),
        } | self._limits(spent)
        if not declared:
            body = Body(self.body.splice(members))
            return body.without("tools", "tool_choice", "parallel_tool_calls")
        if not calling:
            members["tool_choice"] = b'"none"'
        elif terms.choice.kind == "allowed" and terms.choice.value is not None:
            names = self._allowed(promoted, searching)
            allowed = terms.choice.allowing(names, terms.choice.value) if names else "none"
            members["tool_choice"] = encode(allowed)
        return self.body.splice(members)

    def promoting(self, promoted: Iterable[str], more: Sequence[str]) -> list[str]:
        """The promoted tools with more of them; where an upstream takes no more, the oldest
        that were only found go."""
        if self.terms.wraps:
            return list(promoted)
        return fitted(dict.fromkeys((*promoted, *more)), self.kept.union(more), self.room)

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


Plan = Relay | Trim | Observe | Fold


def open_request(raw: bytes, policy: Policy, known: Iterable[bytes] = ()) -> Body | Relay:
    """The request's members, or why no catalog could make it ours. Raises Malformed. `known`
    are `tools` arrays that have been compiled."""
    if policy.mode == "off" and not policy.may_hide:
        return Relay("mode-off")
    body = Body(raw, "tools", known)
    if policy.may_hide:
        check_members(body)
        if "functions" in body and not is_empty(body.get("functions")):
            raise refusal("legacy-functions")
    if is_empty(body.get("tools")):
        return Relay("no-tools")
    if "functions" in body:
        return Relay("legacy-functions")
    return body


def relayed(reason: str, policy: Policy) -> Relay:
    """What is not understood goes upstream as it came. Raises BadRequest where the policy may
    hide tools."""
    if policy.may_hide:
        raise refusal(reason)
    return Relay(reason)


def decide(body: Body, policy: Policy, shape: Shape) -> Relay | Trim | str:
    """What to do with a request that has tools; the reason where it is to be folded. Raises
    BadRequest for tools that no upstream takes where relaying them cannot help either."""
    catalog = shape.catalog
    too_many = catalog.count > policy.max_tools
    folds = policy.mode in ("auto", "on")
    if catalog.fault is not None:
        if policy.may_hide or (too_many and folds):
            raise catalog.fault
        return Relay("tools-malformed")
    if "messages" not in body:
        return relayed("messages-malformed", policy)
    if policy.may_hide:
        guard(body, shape)
    several = body.value("n") not in (None, 1)
    if several and too_many and folds:
        return _trim(body, policy, shape)
    folding, reason = (False, "several-choices") if several else gain(policy, shape)
    if folding:
        return reason
    if shape.is_budgeted and folds:
        seen = [at for at, one in enumerate(shape.rulings) if one.exposure != "hidden"]
        return _declaring(body, shape, seen, "schema-budget")
    return Relay(reason)


def fold(
    body: Body,
    policy: Policy,
    shape: Shape,
    reason: str,
    conversation: Conversation,
    records: Mapping[str, Record] = MappingProxyType({}),
) -> Fold:
    """The request as the upstream will see it. `records`: what is remembered of its turns."""
    choice = read_choice(body.value("tool_choice"))
    bridge, wrapper = shape.bridge_name, shape.wrapper_name
    clashes = not {bridge, wrapper}.isdisjoint(conversation.called)
    if clashes:  # a name that the history calls is another tool's: ours are called otherwise
        taken = {*shape.names, *conversation.called}
        bridge, wrapper = free_name(taken), free_name(taken, WRAPPER_NAME) if wrapper else ""
    terms = Terms(shape, choice, policy.strategy, bridge, wrapper)
    restored = restore(conversation, records, terms)
    in_system = policy.manifest_place == "system"
    longer = instructed(restored.raw, shape.manifest.text) if in_system else None
    last, named = demanded(terms)
    kept = frozenset((*last, *named, *conversation.called))
    found = () if terms.wraps else restored.discovered
    promoted = [n for n in dict.fromkeys((*last, *found, *named)) if n in shape.deferred]
    room = max(policy.max_tools - len(shape.direct) - 1 - terms.wraps, 1)
    return Fold(
        body=body,
        messages=restored.raw if longer is None else longer,
        context=conversation.context,
        terms=terms,
        bridge=shape.bridge_as(bridge, wrapper, in_system=longer is not None),
        wrapper=declaration(wrapper, bridge) if clashes and wrapper else shape.wrapper,
        promoted=tuple(fitted(promoted, kept, room)),
        kept=kept,
        room=room,
        found=restored.found,
        called=frozenset(conversation.called),
        reason=reason,
    )


def observe(folded: Fold) -> Observe:
    """What would be said of this request if it were folded."""
    return Observe(len(folded.declared), folded.sent, folded.reason)


def _trim(body: Body, policy: Policy, shape: Shape) -> Trim:
    catalog: Catalog = shape.catalog
    ranked = catalog.index.rank(last_request(body.get("messages") or b"[]"))
    order = dict.fromkeys([*(position for position, _ in ranked), *range(catalog.count)])
    direct = [at for at in order if shape.rulings[at].exposure == "direct"]
    deferred = [at for at in order if shape.rulings[at].exposure == "deferred"]
    kept = sorted((direct + deferred)[: policy.max_tools])
    return _declaring(body, shape, kept, "several-choices")


def _declaring(body: Body, shape: Shape, positions: Sequence[int], reason: str) -> Trim:
    tools = b"[" + b",".join(shape.tools[at].raw for at in positions) + b"]"
    return Trim(
        body=body.splice({"tools": tools}),
        declared=len(positions),
        sent=sum(shape.weights[at] for at in positions),
        reason=reason,
    )
