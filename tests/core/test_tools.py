import pytest

from app.core.codec import Json, decode
from app.core.errors import BadRequest
from app.core.tools import parse
from tests.builders import WEATHER, dumps


def test_a_tool_is_its_bytes() -> None:
    raw = b'{ "type":"function", "function":{"name":"a","x":1.10,"parameters":{"z":1,"b":2}} }'
    tool = parse(raw, 0)
    assert (tool.raw, tool.name, list(tool.parameters)) == (raw, "a", ["z", "b"])


MARKS = {
    "on the tool": ({"defer_loading": True}, {}, True),
    "in the function": ({}, {"defer_loading": False}, False),
    "on both, the tool's counts": ({"defer_loading": False}, {"defer_loading": True}, False),
    "none": ({}, {}, None),
    "not a boolean": ({"defer_loading": "yes"}, {}, None),
}


@pytest.mark.parametrize(("outer", "inner", "mark"), MARKS.values(), ids=MARKS)
def test_the_clients_mark_is_read_and_goes_no_further(
    outer: Json, inner: Json, mark: bool | None
) -> None:
    entry = {**WEATHER, **outer, "function": {**WEATHER["function"], **inner}}
    tool = parse(dumps(entry), 0)
    assert tool.mark is mark
    assert decode(tool.raw) == WEATHER


HOSTED = ["tool_search", "tool_search_tool_bm25_20251119", "openrouter:tool_search"]


@pytest.mark.parametrize("kind", HOSTED)
def test_hosted_search_tools_are_known(kind: str) -> None:
    assert parse(dumps({"type": kind}), 0).is_hosted_search


@pytest.mark.parametrize("kind", ["function", "web_search", "namespace"])
def test_other_tools_are_not_hosted_search(kind: str) -> None:
    entry = {"type": kind, "function": {"name": "tool_search"}}
    assert not parse(dumps(entry), 0).is_hosted_search


BAD = {
    "not an object": (b"1", "tools[4]"),
    "no function": (b'{"type":"function"}', "tools[4].function"),
    "no name": (b'{"type":"function","function":{}}', "tools[4].function.name"),
    "empty name": (b'{"type":"function","function":{"name":""}}', "tools[4].function.name"),
    "name is a number": (b'{"type":"custom","custom":{"name":1}}', "tools[4].custom.name"),
}


@pytest.mark.parametrize(("raw", "param"), BAD.values(), ids=BAD)
def test_what_is_no_tool_names_the_field(raw: bytes, param: str) -> None:
    with pytest.raises(BadRequest) as caught:
        parse(raw, 4)
    assert caught.value.param == param
    assert f"`{param}`" in caught.value.message


@pytest.mark.parametrize("parameters", [None, [], "x", 1])
def test_odd_parameters_are_none(parameters: object) -> None:
    entry = {"type": "function", "function": {"name": "a", "parameters": parameters}}
    assert parse(dumps(entry), 0).parameters == {}
