"""Is this request our business, and what goes upstream? Fast once the catalog is known."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.core.body import Body
from app.core.catalog import Catalog, is_empty
from app.core.choice import Choice, read_choice
from app.core.codec import Json, encode
from app.core.conversation import called_names, extended, instructed, last_request
from app.core.policy import MOST_HITS, Policy
from app.core.shape import Shape, free_name
from app.core.tools import Tool

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
    shape: Shape
    bridge_name: str
    bridge: bytes
    promoted: tuple[str, ...]
    """Deferred tools that are declared from the start, in order."""
    choice: Choice
    max_tools: int
    reason: str

    @property
    def sent(self) -> int:
        """Tokens of the tools declared in the first round."""
        shape = self.shape
        return shape.sent + sum(shape.tokens(shape.deferred[name]) for name in self.promoted)

    @property
    def declared(self) -> list[str]:
        """Names of the tools declared in the first round, in order."""
        bridge = [self.bridge_name] if self.shape.deferred else []
        return [*(tool.name for tool in self.shape.direct), *bridge, *self.promoted]

    def admits(self, name: str) -> Tool | None:
        """The deferred tool of this name, if a search may return it and a call name it."""
        if self.choice.kind == "allowed" and name not in self.choice.names:
            return None
        return self.shape.deferred.get(name)

    def knows(self, name: str) -> bool:
        """Whether the model may be told of a tool of this name."""
        return self.shape.names.get(name) == "direct" or self.admits(name) is not None

    def request(
        self,
        promoted: Sequence[str],
        exchanges: Sequence[Json],
        *,
        searching: bool = True,
        calling: bool = True,
        spent: int = 0,
    ) -> bytes:
        """The body of one round: these tools promoted, these messages added, so many
        completion tokens of the client's limit used. Without `searching` the bridge is not
        declared; without `calling` no call may be made."""
        declared = [tool.raw for tool in self.shape.direct]
        if searching and self.shape.deferred:
            declared.append(self.bridge)
        declared += [self.shape.deferred[name].raw for name in promoted]
        if not declared:
            return self.body.without("tools", "tool_choice", "parallel_tool_calls")
        members = {"tools": b"[" + b",".join(declared) + b"]"}
        if exchanges or self.messages is not self.body.get("messages"):
            members["messages"] = extended(self.messages, exchanges)
        if not calling:
            members["tool_choice"] = b'"none"'
        elif self.choice.kind == "allowed" and self.choice.value is not None:
            names = [name for name in self.choice.names if self._is_declared(name, promoted)]
            names += [self.bridge_name] if searching else []
            members["tool_choice"] = encode(self.choice.allowing(names, self.choice.value))
        return self.body.splice(members | self._limits(spent))

    def _is_declared(self, name: str, promoted: Sequence[str]) -> bool:
        return name in promoted or self.shape.names.get(name) == "direct"

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


def plan(body: Body, policy: Policy, shape: Shape) -> Plan:
    """What to do with a request that has tools. Raises Malformed, and BadRequest for tools
    that no upstream takes where relaying them cannot help either."""
    catalog = shape.catalog
    too_many = catalog.count > policy.max_tools
    if catalog.fault is not None:
        if too_many:
            raise catalog.fault
        return Relay("tools-malformed")
    messages = body.get("messages")
    if messages is None:
        return Relay("messages-malformed")
    if body.value("n") not in (None, 1):
        return _trim(body, policy, shape, messages) if too_many else Relay("several-choices")
    reason = _decision(policy, shape)
    if isinstance(reason, Relay):
        return reason
    return _fold(body, policy, shape, messages, reason)


def _decision(policy: Policy, shape: Shape) -> str | Relay:
    """Does folding pay?"""
    hides = "hidden" in shape.names.values()
    if not shape.deferred:
        return "policy-hides" if hides else Relay("nothing-to-defer")
    if shape.opted_in:
        return "client-defers"
    if policy.mode == "on":
        return "mode-on"
    if shape.catalog.count > policy.max_tools:
        return "too-many-tools"
    if hides:
        return "policy-hides"
    if sum(shape.tokens(tool) for tool in shape.deferred.values()) < policy.min_tokens:
        return Relay("few-tokens")
    if shape.sent > (1 - policy.min_saving) * shape.offered:
        return Relay("small-saving")
    return "saves-tokens"


def _fold(body: Body, policy: Policy, shape: Shape, messages: bytes, reason: str) -> Fold:
    called = called_names(messages)
    choice = read_choice(body.value("tool_choice"))
    name = shape.bridge_name
    if name in called:  # the client's history has a tool of this name: ours is another
        name = free_name({*shape.names, *called})
    in_system = policy.manifest_place == "system"
    longer = instructed(messages, shape.manifest.text) if in_system else None
    return Fold(
        body=body,
        messages=messages if longer is None else longer,
        shape=shape,
        bridge_name=name,
        bridge=shape.bridge_as(name, in_system=longer is not None),
        promoted=_promoted(shape, choice, called),
        choice=choice,
        max_tools=policy.max_tools,
        reason=reason,
    )


def _promoted(shape: Shape, choice: Choice, called: Sequence[str]) -> tuple[str, ...]:
    """The deferred tools that are declared from the start.

    Frameworks that require a call put their output tool last, under any name. It comes
    first here, since the history behind it grows from request to request.
    """
    named = choice.names if len(choice.names) <= MOST_HITS else ()
    last: Sequence[str] = ()
    if choice.required and choice.kind != "named":
        visible = (name for name, exposure in shape.names.items() if exposure != "hidden")
        last = [n for n in visible if choice.kind != "allowed" or n in choice.names][-1:]
    return tuple(n for n in dict.fromkeys((*last, *called, *named)) if n in shape.deferred)


def _trim(body: Body, policy: Policy, shape: Shape, messages: bytes) -> Trim:
    catalog: Catalog = shape.catalog
    ranked = catalog.index.rank(last_request(messages))
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
