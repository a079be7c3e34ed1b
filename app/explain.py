"""What would be done with a request, and why: the plan as plain values."""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from app.core.body import Malformed
from app.core.calls import Call
from app.core.catalog import Count, compile_catalog
from app.core.codec import decode
from app.core.conversation import Conversation
from app.core.dialect.catalog import script
from app.core.errors import BadRequest
from app.core.fold import Fold, fold
from app.core.hits import Ranked
from app.core.plan import Observe, Plan, Relay, Trim, decide, observe, open_request, relayed
from app.core.policy import Policy
from app.core.search import Search
from app.core.shape import Shape, compile_shape
from app.core.traits import DEFAULT, Traits
from app.rankers import RankerFailed
from app.rankers.rankers import Rankers


class Unreadable(Exception):
    """A file that holds no request. The text says what to do."""


_DECISIONS: dict[type, str] = {Relay: "relayed", Observe: "observed"}


class Explained(NamedTuple):
    """A plan and the shape that it was made of, None where it was not looked at."""

    plan: Plan
    shape: Shape | None
    has_budget: bool = False
    """The policy has one for schemas: each tool's tokens are told with it and without."""

    def as_json(self) -> dict[str, Any]:
        """`decision`, `reason`, `tools`, `tokens` and `manifest`."""
        folded = isinstance(self.plan, Fold)
        decision = _DECISIONS.get(type(self.plan), "folded")
        said: dict[str, Any] = {"decision": decision, "reason": self.plan.reason}
        shape = self.shape
        if shape is None:
            return {**said, "tools": [], "tokens": None, "manifest": ""}
        catalog = shape.catalog
        said["tools"] = [
            {
                "name": tool.name,
                "exposure": ruling.exposure,
                "rule": ruling.rule,
                "tokens": tokens,
                "findings": list(findings),
            }
            for tool, ruling, tokens, findings in zip(
                catalog.tools, shape.rulings, catalog.tokens, catalog.findings, strict=True
            )
        ]
        if self.has_budget:
            for row, tokens in zip(said["tools"], shape.weights, strict=True):
                row["budgeted"] = tokens
        sent = self.plan.sent if isinstance(self.plan, Fold | Trim | Observe) else shape.offered
        said["tokens"] = {"offered": shape.offered, "sent": sent}
        said["manifest"] = shape.manifest.text if folded else ""
        if isinstance(self.plan, Fold):
            said["declared"] = [{"name": n, "why": why} for n, why in self.plan.declared]
            said["messages"] = _messages(self.plan)
        return said


def _messages(plan: Fold) -> dict[str, Any]:
    """How many the client sent and how many go upstream, and the tools that are shown."""
    sent = decode(plan.messages)
    client = decode(plan.body.get("messages") or b"[]")
    ours = [
        json.loads(call["function"]["arguments"]).get("queries", [])
        for message in sent
        for call in message.get("tool_calls") or []
        if call.get("function", {}).get("name") == plan.terms.bridge
    ]
    return {"client": len(client), "sent": len(sent), "searches": ours}


def read_request(path: str, stdin: Any) -> bytes:
    """A request from a file, or from standard input for `-`. Raises Unreadable."""
    try:
        raw: bytes = stdin.read() if path == "-" else Path(path).read_bytes()
        json.loads(raw)
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise Unreadable(f"{path}: this is not JSON: {error}") from error
    return raw


def explain(raw: bytes, policy: Policy, count: Count, traits: Traits = DEFAULT) -> Explained:
    """The plan of a request. Raises BadRequest where the app would get a 400."""
    has_budget = (policy.schema_budget, policy.schema_profile) != ("off", "none")
    try:
        body = open_request(raw, policy)
        if isinstance(body, Relay):
            return Explained(body, None)
        catalog = compile_catalog(body.get("tools") or b"[]", count)
        shape = compile_shape(catalog, policy, count, script(policy.dialect))
        if policy.mode == "observe" and shape.hides:
            policy = replace(policy, mode="off")
            shape = compile_shape(catalog, policy, count, script(policy.dialect))
        decided = decide(body, policy, shape)
        known = None if catalog.fault else shape
        if not isinstance(decided, str):
            return Explained(decided, known, has_budget)
        conversation = Conversation.read(body.get("messages") or b"")
        folded = fold(body, policy, shape, decided, conversation, {}, traits)
        plan = observe(folded) if policy.mode == "observe" else folded
        return Explained(plan, known, has_budget)
    except Malformed as malformed:
        return Explained(relayed(str(malformed), policy), None)
    except ValueError:
        return Explained(relayed("not-json", policy), None)


async def searched(
    raw: bytes, policy: Policy, count: Count, rankers: Rankers, queries: list[str]
) -> Ranked:
    """How a search for these would be answered, with all the time that a remote ranker takes
    to prepare. Raises Unreadable."""
    try:
        shape = explain(raw, replace(policy, mode="on"), count).shape
    except BadRequest as fault:
        raise Unreadable(fault.message) from fault
    if shape is None:
        raise Unreadable("the request has no tools to search in")
    with suppress(RankerFailed):  # which the answer tells
        await rankers.prepare(shape, policy)
    return await rankers.rank(Search(Call(), tuple(queries)), shape, policy)
