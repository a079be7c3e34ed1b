from typing import Any

import pytest

from app.core.catalog import compile_catalog
from app.core.codec import Json
from app.core.gain import gain
from app.core.policy import Policy
from app.core.shape import compile_shape
from tests.builders import CATALOG, WEATHER, dumps, numbered, tool

HOSTED: Json = {"type": "tool_search_tool_regex_20251119", "name": "find"}
CASES: dict[str, tuple[list[Json], dict[str, Any], tuple[bool, str]]] = {
    "on": (CATALOG, {"mode": "on"}, (True, "mode-on")),
    "observed as auto": (CATALOG, {"mode": "observe"}, (False, "few-tokens")),
    "observed where auto folds": (numbered(129), {"mode": "observe"}, (True, "too-many-tools")),
    "off": (CATALOG, {"mode": "off"}, (False, "mode-off")),
    "off, and a tool is hidden": (
        CATALOG,
        {"mode": "off", "hidden": ("get_*",)},
        (True, "policy-hides"),
    ),
    "all hidden": ([WEATHER], {"hidden": ("*",)}, (True, "policy-hides")),
    "nothing to defer": ([tool("think")], {"mode": "on"}, (False, "nothing-to-defer")),
    "nothing to defer by default": (
        CATALOG,
        {"mode": "on", "default_exposure": "direct"},
        (False, "nothing-to-defer"),
    ),
    "a hosted search and nothing to search in": ([HOSTED], {}, (True, "client-defers")),
    "a tool without a name is hidden": (
        [{"type": "web_search"}, *CATALOG],
        {"hidden": ("web_search",)},
        (True, "policy-hides"),
    ),
    "the client defers": ([{**WEATHER, "defer_loading": True}], {}, (True, "client-defers")),
    "much is saved": (CATALOG, {"min_tokens": 1, "min_saving": 0.1}, (True, "saves-tokens")),
    "little is saved": (CATALOG, {"min_tokens": 1, "min_saving": 1}, (False, "small-saving")),
}


@pytest.mark.parametrize(("tools", "policy", "gained"), CASES.values(), ids=CASES)
def test_whether_folding_pays(
    tools: list[Json], policy: dict[str, Any], gained: tuple[bool, str]
) -> None:
    chosen = Policy(**policy)
    shape = compile_shape(
        compile_catalog(dumps(tools), lambda text: len(text) // 4), chosen, lambda t: len(t) // 4
    )
    assert gain(chosen, shape) == gained
