"""Is this request our business, and what goes upstream? Fast once the catalog is known."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.core.body import Body
from app.core.catalog import Catalog, is_empty
from app.core.conversation import last_request
from app.core.fold import Fold
from app.core.gain import gain
from app.core.guard import check_members, guard, refusal
from app.core.policy import Policy
from app.core.selfsearch import has_loaded
from app.core.shape import Shape


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
    why = _not_ours(body, shape, rescues=too_many and folds)
    if why == "several-choices" and too_many and folds:
        return _trim(body, policy, shape)
    folding, reason = (False, why) if why else gain(policy, shape)
    if folding:
        return reason
    if shape.is_budgeted and folds:
        seen = [at for at, one in enumerate(shape.rulings) if one.exposure != "hidden"]
        return _declaring(body, shape, seen, "schema-budget")
    return Relay(reason)


def _not_ours(body: Body, shape: Shape, *, rescues: bool) -> str | None:
    """Why a request is not folded whatever it would gain. `rescues`: its upstream would refuse
    so many tools, also those of a client that searches by itself."""
    leaves_alone = not shape.hides and not rescues
    if leaves_alone and (shape.searches or has_loaded(body.get("messages") or b"")):
        return "client-searches"
    return "several-choices" if body.value("n") not in (None, 1) else None


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
