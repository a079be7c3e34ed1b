"""What would be done with a request, and why: the plan as plain values."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from app.core.body import Malformed
from app.core.catalog import Count, compile_catalog
from app.core.codec import decode
from app.core.conversation import Conversation
from app.core.errors import BadRequest
from app.core.plan import Fold, Plan, Relay, Trim, decide, fold, open_request
from app.core.policy import Policy
from app.core.shape import Shape, compile_shape
from app.core.traits import DEFAULT, Traits

Ranked = list[tuple[str, float]]
"""Names with their scores, best first."""


class Unreadable(Exception):
    """A file that holds no request. The text says what to do."""


class Explained(NamedTuple):
    """A plan and the shape that it was made of, None where it was not looked at."""

    plan: Plan
    shape: Shape | None

    def as_json(self) -> dict[str, Any]:
        """`decision`, `reason`, `tools`, `tokens` and `manifest`."""
        folded = isinstance(self.plan, Fold)
        decision = "relayed" if isinstance(self.plan, Relay) else "folded"
        said: dict[str, Any] = {"decision": decision, "reason": self.plan.reason}
        shape = self.shape
        if shape is None:
            return {**said, "tools": [], "tokens": None, "manifest": ""}
        said["tools"] = [
            {"name": tool.name, "exposure": ruling.exposure, "rule": ruling.rule, "tokens": tokens}
            for tool, ruling, tokens in zip(
                shape.catalog.tools, shape.rulings, shape.catalog.tokens, strict=True
            )
        ]
        sent = self.plan.sent if isinstance(self.plan, Fold | Trim) else shape.offered
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
    try:
        body = open_request(raw, policy)
        if isinstance(body, Relay):
            return Explained(body, None)
        catalog = compile_catalog(body.get("tools") or b"[]", count)
        shape = compile_shape(catalog, policy, count)
        decided = decide(body, policy, shape)
        known = None if catalog.fault else shape
        if not isinstance(decided, str):
            return Explained(decided, known)
        conversation = Conversation.read(body.get("messages") or b"")
        return Explained(fold(body, policy, shape, decided, conversation, {}, traits), known)
    except Malformed as malformed:
        return Explained(Relay(str(malformed)), None)
    except ValueError:
        return Explained(Relay("not-json"), None)


def rankings(raw: bytes, policy: Policy, count: Count, queries: list[str]) -> list[Ranked]:
    """For each query the tools that a search may return, best first. Raises Unreadable."""
    try:
        shape = explain(raw, replace(policy, mode="on"), count).shape
    except BadRequest as fault:
        raise Unreadable(fault.message) from fault
    if shape is None:
        raise Unreadable("the request has no tools to search in")
    tools = shape.catalog.tools
    return [
        [
            (tools[position].name, score)
            for position, score in shape.catalog.index.rank(query)
            if tools[position].name in shape.deferred
        ]
        for query in queries
    ]
