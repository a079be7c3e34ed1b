import json
from typing import Any

import pytest

from app.core.codec import Json
from app.core.fold import Fold
from app.core.policy import Policy
from app.core.traits import PROFILES
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


def test_the_same_request_gives_the_same_bytes() -> None:
    raw = body(messages=history("get_weather"))
    assert folded(raw).request(("get_weather",), []) == folded(raw).request(("get_weather",), [])


def test_the_clients_own_request_is_its_bytes() -> None:
    plan = folded(body())
    assert plan.may_unfold
    assert plan.unfolded() == body()


def test_the_clients_own_request_keeps_to_the_schema_budget() -> None:
    wide = tool("crm__wide", city="string")
    wide["function"]["parameters"]["properties"]["city"]["description"] = "Where. " * 1_000
    plan = folded(body([*CATALOG, wide]), schema_budget=1_000)
    *others, last = json.loads(plan.unfolded())["tools"]
    assert len(dumps(last["function"]["parameters"])) <= 1_000
    assert others == CATALOG


@pytest.mark.parametrize("hides", [{"hidden": ("get_weather",)}, {"hidden": ("other",)}])
def test_where_a_policy_may_hide_there_is_no_way_back(hides: dict[str, Any]) -> None:
    assert not folded(body(), **hides).may_unfold


def test_a_form_carries_what_the_form_before_it_had_promoted() -> None:
    plan = folded(body(messages=history("get_weather")))
    other = plan.under(PROFILES["openai"], frozenset({"crm__read_deal"}))
    assert other.carrying(["crm__read_deal", "crm__read_deal2", LAST]) == [
        *("get_weather", "crm__read_deal2"),
        LAST,
    ]


@pytest.mark.parametrize(("dialect", "marks"), [("native", True), ("json_tag", False)])
def test_a_mark_means_nothing_in_a_text(dialect: str, marks: bool) -> None:
    plan = folded(body(), strategy="native", dialect=dialect)
    assert plan.under(PROFILES["vllm"], frozenset()).terms.marks is marks
