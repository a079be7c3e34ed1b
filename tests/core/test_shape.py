from collections.abc import Callable
from typing import Any

from app.core.catalog import compile_catalog
from app.core.codec import Json, decode
from app.core.policy import Policy
from app.core.shape import Shape, compile_shape, free_name
from tests.builders import CATALOG, WEATHER, dumps, numbered, tool

Count = Callable[[str], int]


def shaped(entries: list[Json], count: Count = len, **policy: Any) -> Shape:
    return compile_shape(compile_catalog(dumps(entries), count), Policy(**policy), count)


def bridge(shape: Shape) -> Json:
    function: Json = decode(shape.bridge)["function"]
    return function


def test_direct_tools_are_declared_by_name_and_deferred_ones_listed() -> None:
    shape = shaped([*CATALOG, tool("think"), tool("ask_user")], hidden=("crm__*",))
    assert [t.name for t in shape.direct] == ["ask_user", "think"]
    assert list(shape.deferred) == ["get_weather", "github__create_issue", "stripe__refund_payment"]
    assert "crm__read_contact" not in shape.manifest.text
    assert shape.names["crm__read_contact"] == "hidden"


def test_a_short_manifest_stands_in_the_description() -> None:
    said = bridge(shaped([WEATHER]))
    assert "get_weather(city, units?)" in said["description"]
    assert len(said["description"]) < 1_024


def test_a_long_manifest_stands_in_the_parameter() -> None:
    said = bridge(shaped(numbered(300, 200)))
    assert len(said["description"]) < 1_024
    assert "t299" in said["parameters"]["properties"]["queries"]["description"]


def test_the_bridge_says_what_a_model_must_know() -> None:
    said = bridge(shaped([WEATHER]))["description"]
    for fact in ("not", "Search here before you say that something cannot be done", "called"):
        assert fact in said


def test_a_manifest_in_the_system_message_is_not_in_the_bridge() -> None:
    shape = shaped(CATALOG)
    text = shape.bridge_as("tool_search", "", listing="").decode()
    assert "in the system message" in text
    assert "get_weather" not in text


def test_a_tool_whose_line_costs_as_much_as_its_schema_stays_direct(count: Count) -> None:
    tiny = {"type": "custom", "custom": {"name": "a_tool_with_quite_a_long_name_and_no_more"}}
    shape = shaped([tiny, *CATALOG], lambda text: 10 if text.startswith(("a_tool", "{")) else 9)
    assert shape.rulings[0].exposure == "direct"
    assert "costs" in shape.rulings[0].rule or "cost" in shape.rulings[0].rule
    assert shape.rulings[1].exposure == "deferred"


def test_the_tokens_are_those_of_what_is_declared(count: Count) -> None:
    shape = shaped([*CATALOG, tool("think")], count)
    assert shape.offered == sum(count(dumps(e).decode()) for e in [*CATALOG, tool("think")])
    assert shape.sent == count(dumps(tool("think")).decode()) + count(shape.bridge.decode())


def test_the_size_is_that_of_what_is_declared() -> None:
    shape = shaped([*CATALOG, tool("think")], strategy="wrap")
    ours = len(shape.bridge) + len(shape.wrapper)
    assert shape.size_in_bytes == len(shape.direct[0].raw) + ours
    assert shape.wrapper


def test_core_tools_that_a_policy_defers_are_known() -> None:
    assert shaped([*CATALOG, tool("think")]).core_deferred == ()
    assert shaped([*CATALOG, tool("think")], deferred=("*",)).core_deferred == ("think",)


def test_the_clients_tools_keep_their_names() -> None:
    assert free_name([]) == "tool_search"
    assert free_name(["tool_search"]) == "toolfold_tool_search"
    taken = {"tool_search", "toolfold_tool_search", "toolfold_tool_search_2"}
    assert free_name(taken) == "toolfold_tool_search_3"
    assert free_name(["call_tool"], "call_tool") == "toolfold_call_tool"
    assert shaped([tool("tool_search"), *CATALOG]).bridge_name == "toolfold_tool_search"


def test_a_mark_or_a_hosted_search_tool_opts_in() -> None:
    assert not shaped(CATALOG).opted_in
    assert not shaped([{**WEATHER, "defer_loading": False}]).opted_in
    assert shaped([*CATALOG, {**tool("x"), "defer_loading": True}]).opted_in
    assert shaped([*CATALOG, {"type": "tool_search"}]).opted_in


def test_a_hosted_search_tool_goes_nowhere() -> None:
    shape = shaped([*CATALOG, {"type": "tool_search"}])
    assert shape.direct == ()
    assert "" not in shape.names


def test_nameless_tools_are_declared_each() -> None:
    shape = shaped([{"type": "web_search"}, {"type": "code_interpreter"}, *CATALOG])
    assert [t.type for t in shape.direct] == ["web_search", "code_interpreter"]
