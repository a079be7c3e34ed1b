import json
from dataclasses import replace
from typing import Any

import pytest

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


CASES: dict[str, tuple[int, list[str]]] = {
    "all fit": (4, ["a", "k", "b", "c"]),
    "the oldest that was only found goes": (3, ["k", "b", "c"]),
    "then the next": (1, ["k"]),
    "and what is kept last": (0, []),
}


@pytest.mark.parametrize(("room", "left"), CASES.values(), ids=CASES)
def test_as_many_as_the_upstream_takes(room: int, left: list[str]) -> None:
    assert fitted(["a", "k", "b", "c"], frozenset({"k"}), room) == left


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
