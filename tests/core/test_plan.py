import json
from typing import Any

import pytest

from app.core.body import Body, Malformed
from app.core.codec import Json
from app.core.errors import BadRequest
from app.core.fold import Fold
from app.core.plan import Plan, Relay, Trim, open_request
from app.core.policy import Policy
from tests.builders import CATALOG, FILLER, WEATHER, body, call, dumps, numbered, tool
from tests.player import planned


def folded(raw: bytes, **policy: Any) -> Fold:
    plan = planned(raw, Policy(**({"mode": "on"} | policy)))
    assert isinstance(plan, Fold), plan
    return plan


def sent(plan: Fold, *promoted: str, **how: Any) -> Json:
    value: Json = json.loads(plan.request(promoted or plan.promoted, how.pop("added", []), **how))
    return value


def declared(plan: Fold) -> list[str]:
    return [entry["function"]["name"] for entry in sent(plan)["tools"]]


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


def test_all_that_is_not_ours_keeps_its_bytes() -> None:
    raw = (
        b'{ "z":1180591620717411303424, "messages":[ {"role":"user","content":"\\u00e9 1.10"} ],'
        b'\n"tools":' + dumps(CATALOG) + b', "a":{"y":1e2,"b":1.10} }'
    )
    start, end = raw.index(b'"tools":') + 8, raw.rindex(b', "a"')
    upstream = folded(raw).request((), [])
    assert upstream.startswith(raw[:start] + b"[")
    assert upstream.endswith(b"]" + raw[end:])


def test_a_promoted_declaration_is_the_clients_bytes() -> None:
    odd = b'{"type":"function", "function":{"name":"x__odd","parameters":{"z":1.10}}}'
    raw = body(CATALOG).replace(b'"tools": [', b'"tools": [' + odd + b",")
    assert odd in folded(raw).request(("x__odd",), [])


def test_order_is_direct_by_name_then_the_bridge_then_promoted() -> None:
    plan = folded(body([*CATALOG, tool("think"), tool("ask_user")]))
    names = [e["function"]["name"] for e in sent(plan, "get_weather", "crm__read_deal")["tools"]]
    assert names == ["ask_user", "think", "tool_search", "get_weather", "crm__read_deal"]


def history(*names: str) -> list[Json]:
    return [
        {"role": "assistant", "content": None, "tool_calls": [call("c", name) for name in names]},
        *({"role": "tool", "tool_call_id": "c", "content": "x"} for _ in names),
    ]


def named(name: str) -> Json:
    return {"type": "function", "function": {"name": name}}


def allowed(*names: str, mode: str = "auto") -> Json:
    listed = {"mode": mode, "tools": [named(name) for name in names]}
    return {"type": "allowed_tools", "allowed_tools": listed}


LAST = FILLER[-1]["function"]["name"]
PROMOTED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing": ({}, []),
    "what the history calls, in order": (
        {"messages": history("get_weather", "crm__read_deal", "get_weather")},
        ["get_weather", "crm__read_deal"],
    ),
    "not what the client no longer sends": ({"messages": history("retired")}, []),
    "a named choice": ({"tool_choice": named("get_weather")}, ["get_weather"]),
    "a named choice behind the history": (
        {"messages": history("crm__read_deal"), "tool_choice": named("get_weather")},
        ["crm__read_deal", "get_weather"],
    ),
    "required: the last tool first": (
        {"messages": history("get_weather"), "tool_choice": "required"},
        [LAST, "get_weather"],
    ),
    "none: nothing more": ({"tool_choice": "none"}, []),
    "auto: nothing more": ({"tool_choice": "auto"}, []),
    "allowed tools": (
        {"tool_choice": allowed("get_weather", "crm__read_deal")},
        ["get_weather", "crm__read_deal"],
    ),
    "allowed tools, required: the last of them first": (
        {"tool_choice": allowed("crm__read_deal", "get_weather", mode="required")},
        ["crm__read_deal", "get_weather"],
    ),
    "more allowed tools than a search would show": (
        {"tools": numbered(99), "tool_choice": allowed(*(f"t{n:02}" for n in range(21)))},
        [],
    ),
}


@pytest.mark.parametrize(("members", "promoted"), PROMOTED.values(), ids=PROMOTED)
def test_what_is_declared_from_the_start(members: dict[str, Any], promoted: list[str]) -> None:
    plan = folded(body(**members))
    assert declared(plan) == ["tool_search", *promoted]


@pytest.mark.parametrize("choice", ["auto", "none", "required", named("get_weather")])
def test_a_choice_goes_through_and_changes_nothing_else(choice: object) -> None:
    plain, chosen = sent(folded(body())), sent(folded(body(tool_choice=choice)))
    assert chosen["tool_choice"] == choice
    assert chosen["tools"][0] == plain["tools"][0]


def test_allowed_tools_are_those_declared_and_the_bridge() -> None:
    choice = allowed("get_weather", *(f"crm__{n}" for n in range(30)), mode="required")
    rewritten = sent(folded(body(tool_choice=choice)), "get_weather")["tool_choice"]
    assert rewritten == allowed("get_weather", "tool_search", mode="required")


def test_only_allowed_tools_are_admitted() -> None:
    plan = folded(body(tool_choice=allowed("get_weather")))
    assert plan.terms.admits("get_weather") is not None
    assert plan.terms.admits("crm__read_deal") is None


def test_after_the_searches_no_call_may_be_made() -> None:
    plan = folded(body())
    assert sent(plan, calling=False)["tool_choice"] == "none"
    assert declared(plan) == ["tool_search"]


def test_where_a_call_is_required_the_bridge_goes() -> None:
    plan = folded(body(tool_choice="required"))
    assert [e["function"]["name"] for e in sent(plan, searching=False)["tools"]] == [LAST]


LIMITS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the newer": ({"max_completion_tokens": 100}, {"max_completion_tokens": 70}),
    "the older": ({"max_tokens": 100}, {"max_tokens": 70}),
    "used up": ({"max_tokens": 20}, {"max_tokens": 1}),
    "none": ({"max_tokens": None}, {"max_tokens": None}),
}


@pytest.mark.parametrize(("given", "left"), LIMITS.values(), ids=LIMITS)
def test_the_clients_token_limit_spans_the_turn(given: Json, left: Json) -> None:
    assert sent(folded(body(**given)), spent=30).items() >= left.items()


def test_a_manifest_in_the_system_message_needs_one() -> None:
    system = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "q"}]
    there = sent(folded(body(messages=system), manifest_place="system"))
    assert "get_weather(city" in there["messages"][0]["content"]
    assert "get_weather" not in json.dumps(there["tools"])
    nowhere = sent(folded(body(), manifest_place="system"))
    assert nowhere["messages"] == [{"role": "user", "content": "Hello"}]
    assert "get_weather" in json.dumps(nowhere["tools"])


def test_the_bridge_avoids_names_of_the_history() -> None:
    plan = folded(body(messages=history("tool_search")))
    assert declared(plan) == ["toolfold_tool_search"]


def test_hidden_tools_alone_leave_no_tools_at_all() -> None:
    plan = folded(body([WEATHER], tool_choice="auto"), hidden=("*",))
    assert sent(plan).keys() == {"model", "messages"}


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


def test_the_same_request_gives_the_same_bytes() -> None:
    raw = body(messages=history("get_weather"))
    assert folded(raw).request(("get_weather",), []) == folded(raw).request(("get_weather",), [])
    assert Body(raw).get("tools") is not None
