from typing import Any

import pytest

from app.core.catalog import compile_catalog
from app.core.choice import Choice
from app.core.policy import Policy
from app.core.shape import compile_shape
from app.core.terms import Terms
from tests.builders import CATALOG, dumps, tool


def terms(choice: Choice | None = None, **policy: Any) -> Terms:
    chosen = Policy(**policy)
    shape = compile_shape(compile_catalog(dumps([*CATALOG, tool("think")]), len), chosen, len)
    made = choice or Choice()
    return Terms(shape, made, chosen.strategy, shape.bridge_name, shape.wrapper_name)


def test_deferred_tools_are_admitted_and_direct_ones_known() -> None:
    made = terms(hidden=("crm__*",))
    assert made.admits("get_weather") is not None
    assert made.admits("think") is None
    assert [made.knows(n) for n in ("get_weather", "think", "crm__read_deal", "nope")] == [
        True,
        True,
        False,
        False,
    ]


def test_only_allowed_tools_are_admitted() -> None:
    made = terms(Choice("allowed", ("get_weather",)))
    assert made.admits("get_weather") is not None
    assert made.admits("crm__read_deal") is None


@pytest.mark.parametrize(("hidden", "meant"), [((), "get_weather"), (("get_*",), None)])
def test_a_wrong_name_never_means_a_hidden_tool(hidden: tuple[str, ...], meant: str | None) -> None:
    found = terms(hidden=hidden).meant("getWeather")
    assert (found.name if found else None) == meant


def test_a_wrong_name_of_a_direct_tool_means_no_deferred_one() -> None:
    assert terms().meant("Think") is None


def test_the_wrapper_has_a_name_only_where_it_is_used() -> None:
    assert (terms().wraps, terms().wrapper) == (False, "")
    assert (terms(strategy="wrap").wraps, terms(strategy="wrap").wrapper) == (True, "call_tool")
