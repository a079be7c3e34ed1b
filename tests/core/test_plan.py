import json
from typing import Any

import pytest

from app.core.body import Malformed
from app.core.errors import BadRequest
from app.core.plan import Plan, Relay, Trim, open_request
from app.core.policy import Policy
from tests.builders import CATALOG, WEATHER, body, dumps, numbered, tool
from tests.player import planned

NOT_OURS: dict[str, tuple[bytes, dict[str, Any], str]] = {
    "the mode is off": (body(), {"mode": "off"}, "mode-off"),
    "no tools": (dumps({"messages": []}), {}, "no-tools"),
    "tools: []": (body([]), {}, "no-tools"),
    "tools: null": (b'{"tools":null}', {}, "no-tools"),
    "legacy functions": (body(functions=[]), {}, "legacy-functions"),
}


@pytest.mark.parametrize(("raw", "policy", "reason"), NOT_OURS.values(), ids=NOT_OURS)
def test_requests_that_no_catalog_makes_ours(
    raw: bytes, policy: dict[str, Any], reason: str
) -> None:
    assert open_request(raw, Policy(**policy)) == Relay(reason)


def test_a_body_that_is_off_is_not_even_read() -> None:
    assert open_request(b"not JSON", Policy(mode="off")) == Relay("mode-off")
    with pytest.raises(Malformed, match="not-json"):
        open_request(b"not JSON", Policy())


BIG = [tool(f"crm__read_{n:03}", "Reads one of many things. " * 9, id="string") for n in range(99)]
DECISIONS: dict[str, tuple[bytes, dict[str, Any], str]] = {
    "much is saved": (body(BIG), {}, "Fold saves-tokens"),
    "few tokens": (body(BIG), {"min_tokens": 10**6}, "Relay few-tokens"),
    "little is saved": (body(BIG), {"min_saving": 0.99}, "Relay small-saving"),
    "too many tools for the upstream": (body(numbered(129)), {}, "Fold too-many-tools"),
    "as many as the upstream takes": (
        body(numbered(128)),
        {"min_tokens": 10**6},
        "Relay few-tokens",
    ),
    "the mode is on": (body([WEATHER]), {"mode": "on"}, "Fold mode-on"),
    "the client marks a tool": (
        body([{**WEATHER, "defer_loading": True}]),
        {},
        "Fold client-defers",
    ),
    "nothing can be deferred": (body([tool("think")]), {"mode": "on"}, "Relay nothing-to-defer"),
    "the policy hides a tool": (
        body([WEATHER, tool("think")]),
        {"hidden": ("think",)},
        "Fold policy-hides",
    ),
    "the policy hides all but direct tools": (
        body([WEATHER, tool("think")]),
        {"hidden": ("get_*",)},
        "Fold policy-hides",
    ),
    "several choices": (body(n=2), {"mode": "on"}, "Relay several-choices"),
    "one choice": (body(n=1), {"mode": "on"}, "Fold mode-on"),
    "several choices, too many tools": (body(numbered(129), n=2), {}, "Trim several-choices"),
    "a tool twice": (body([WEATHER, WEATHER]), {}, "Relay tools-malformed"),
    "no messages": (dumps({"tools": CATALOG}), {"mode": "on"}, "Relay messages-malformed"),
}


def told(plan: Plan) -> str:
    return f"{type(plan).__name__} {plan.reason}"


@pytest.mark.parametrize(("raw", "policy", "decision"), DECISIONS.values(), ids=DECISIONS)
def test_decisions(raw: bytes, policy: dict[str, Any], decision: str) -> None:
    assert told(planned(raw, Policy(**policy))) == decision


def test_tools_that_no_upstream_takes_are_refused_where_relaying_cannot_help() -> None:
    with pytest.raises(BadRequest, match="must be unique"):
        planned(body([*numbered(128), numbered(1)[0]]), Policy())


def test_a_trimmed_request_keeps_the_best_tools_in_the_clients_order() -> None:
    tools = [*numbered(130), WEATHER, tool("think")]
    plan = planned(body(tools, "weather please", n=2), Policy(max_tools=3))
    assert isinstance(plan, Trim)
    names = [e["function"]["name"] for e in json.loads(plan.body)["tools"]]
    assert names == ["t00", "get_weather", "think"]
    assert plan.declared == 3


@pytest.mark.parametrize("n", [0, "2", 1.5])
def test_a_count_that_is_not_one_is_the_upstreams_business(n: object) -> None:
    assert planned(body(n=n), Policy(mode="on")) == Relay("several-choices")
