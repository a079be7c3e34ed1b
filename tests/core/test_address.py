from typing import Any

import pytest

from app.core.address import addressee, open_wrapped
from app.core.calls import Call
from app.core.codec import Json
from tests.builders import call
from tests.core.test_terms import terms
from tests.scripts import wrapped


def made(value: Json) -> Call:
    built = Call(kind=value["type"])
    built.add(value)
    return built


CUSTOM = {"id": "c1", "type": "custom", "custom": {"name": "nope", "input": "x"}}
WHOM: dict[str, tuple[Json, str]] = {
    "the search": (call("c", "tool_search"), "search"),
    "a direct tool": (call("c", "think"), "client"),
    "a promoted tool": (call("c", "crm__read_deal"), "client"),
    "a deferred tool": (call("c", "get_weather"), "blind"),
    "a wrong name of one": (call("c", "getWeather"), "alias"),
    "a name that means none": (call("c", "send_fax"), "unknown"),
    "a hidden tool": (call("c", "stripe__refund_payment"), "hidden"),
    "a wrong name of a hidden tool": (call("c", "refund_payment"), "hidden"),
    "a custom tool that there is not": (CUSTOM, "unknown"),
}


@pytest.mark.parametrize(("value", "whom"), WHOM.values(), ids=WHOM)
def test_whom_a_call_is_for(value: Json, whom: str) -> None:
    hidden: Any = ("stripe__*",)
    assert addressee(made(value), terms(hidden=hidden), ["crm__read_deal"]) == whom


INSIDE: dict[str, tuple[Json, str]] = {
    "a deferred tool": (wrapped("c", "get_weather", {}), "blind"),
    "a wrong name of one": (wrapped("c", "get-weather", {}), "blind"),
    "a direct tool": (wrapped("c", "think", {}), "direct"),
    "a hidden tool": (wrapped("c", "stripe__refund_payment", {}), "hidden"),
    "a name that means none": (wrapped("c", "send_fax", {}), "unknown"),
    "nothing that can be read": (call("c", "call_tool", "["), "unwrapped"),
}


@pytest.mark.parametrize(("value", "whom"), INSIDE.values(), ids=INSIDE)
def test_whom_a_wrapped_call_is_for(value: Json, whom: str) -> None:
    chosen = terms(strategy="wrap", hidden=("stripe__*",))
    built = made(value)
    assert addressee(built, chosen, []) == "wrapped"
    open_wrapped(built, chosen)
    assert addressee(built, chosen, []) == whom


def test_a_wrong_name_inside_the_wrapper_is_put_right() -> None:
    built = made(wrapped("c", "get-weather", {"city": "Oslo"}))
    open_wrapped(built, terms(strategy="wrap"))
    assert built.target == ("get_weather", '{"city": "Oslo"}')
