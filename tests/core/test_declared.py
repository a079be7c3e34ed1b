import json
from dataclasses import replace
from typing import Any

from app.core.declared import declarations, demanded, fitted
from app.core.fold import Fold
from app.core.policy import Policy
from app.core.terms import Terms
from app.core.traits import PROFILES
from tests.builders import CATALOG, WEATHER, body
from tests.player import planned

NAMES = [one["function"]["name"] for one in CATALOG]


def terms(strategy: Any = "promote", profile: Any = "default", **members: Any) -> Terms:
    plan = planned(body(**members), Policy(mode="on", strategy=strategy))
    assert isinstance(plan, Fold)
    return replace(plan.terms, traits=PROFILES[profile])


def test_the_oldest_that_was_only_found_goes_first() -> None:
    assert fitted("abcd", frozenset("a"), 3) == ["a", "c", "d"]
    assert fitted("abcd", frozenset("abcd"), 3) == ["b", "c", "d"]
    assert fitted("ab", frozenset(), 3) == ["a", "b"]


def test_a_required_call_demands_the_last_tool() -> None:
    assert demanded(terms(tool_choice="required")) == (NAMES[-1:], ())
    assert demanded(terms()) == ((), ())


def test_what_is_promoted_is_declared_as_it_came() -> None:
    (declared,) = declarations(["get_weather"], terms(), ())
    assert json.loads(declared) == WEATHER


def test_where_the_upstream_defers_the_others_are_marked() -> None:
    marked = terms("native", "sglang")
    declared = [json.loads(raw) for raw in declarations(["get_weather"], marked, ())]
    assert declared[0] == WEATHER
    assert all(one["defer_loading"] is True for one in declared[1:])
    assert len(declared) == len(CATALOG)


def test_what_a_result_loads_stays_marked() -> None:
    declared = declarations(["get_weather"], terms("native", "vllm"), {"get_weather"})
    assert [json.loads(raw)["function"]["name"] for raw in declared] == NAMES
    assert all(json.loads(raw)["defer_loading"] for raw in declared)
