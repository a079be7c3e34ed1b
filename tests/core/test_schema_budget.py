import json
from dataclasses import replace
from typing import Any

import pytest

from app.core.codec import Json, decode, encode
from app.core.schema.budget import SchemaBudget, budget_bytes, budgeted, compact, read_schema_budget
from app.core.schema.profiles import Profile
from app.core.schema.valid import fault
from app.core.tools import Tool, parse
from tests.builders import WEATHER

READ: dict[str, tuple[str, SchemaBudget]] = {
    "off": ("off", "off"),
    "the preset": ("third_party", "third_party"),
    "in capitals and spaces": (" Third_Party ", "third_party"),
    "a number": ("2500", 2_500),
    "the smallest": ("100", 100),
}
UNREAD = ["", "on", "99", "0", "-5", "1e3", "5 kB", "5000.0", "\u0665\u0660\u0660", "1" * 5_000]
LONG = "Does a lot. " * 200


def tool(parameters: Json, description: str = "Does it.", **members: Any) -> Tool:
    function = {"name": "t", "description": description, "parameters": parameters, **members}
    return parse(json.dumps({"type": "function", "function": function}).encode(), 0)


def shown(tool: Tool, budget: SchemaBudget = "third_party", profile: Profile = "none") -> Json:
    function: Json = decode(budgeted(tool, budget, profile).raw)["function"]
    return function


def wordy(arguments: int, words: int = 200) -> Json:
    one = {"type": "string", "description": "x" * words}
    properties = {f"a{at}": one for at in range(arguments)}
    return {"type": "object", "properties": properties, "required": ["a0"]}


def chain(levels: int) -> Json:
    schema: Json = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


@pytest.mark.parametrize(("text", "budget"), READ.values(), ids=READ)
def test_a_budget_is_read(text: str, budget: SchemaBudget) -> None:
    assert read_schema_budget(text) == budget


@pytest.mark.parametrize("text", UNREAD, ids=lambda text: text[:8])
def test_what_is_no_budget_is_told_what_would_be_right(text: str) -> None:
    with pytest.raises(ValueError, match=r"`off`, `third_party` .* or a number of bytes from 100"):
        read_schema_budget(text)


def test_the_preset_is_5000_bytes_a_schema_and_1000_a_description() -> None:
    assert (budget_bytes("off"), budget_bytes("third_party"), budget_bytes(700)) == (
        None,
        5_000,
        700,
    )
    new = shown(tool(wordy(40), LONG))
    assert len(encode(new["parameters"])) <= 5_000
    assert len(new["description"].encode()) <= 1_000
    assert new["description"].endswith("…")


def test_none_is_verbatim() -> None:
    given = tool(wordy(100), LONG)
    assert budgeted(given, "off", "none") is given


def test_a_tool_within_its_budget_keeps_its_bytes() -> None:
    given = parse(json.dumps(WEATHER, indent=3).encode(), 0)
    assert budgeted(given, "third_party", "none") is given
    assert budgeted(given, "third_party", "gemini") is given


def test_a_schema_that_only_its_spaces_put_over_the_budget_loses_them() -> None:
    spread = json.dumps(tool_entry(wordy(1, 20)), indent=9)
    new = budgeted(parse(spread.encode(), 0), 120, "none")
    assert decode(new.raw) == json.loads(spread)
    assert len(new.raw) < len(spread)


def tool_entry(parameters: Json) -> Json:
    return {"type": "function", "function": {"name": "t", "parameters": parameters}}


def test_all_else_keeps_its_bytes() -> None:
    raw = (
        b'{"x-odd": 1.10, "type":"function",  "function": {"strict":false, "name" : "\\u0074",'
        b'"parameters":%b , "x": 1180591620717411303424, "description": "%b"} }'
    )
    long = json.dumps(wordy(1, 2_000)).encode()
    new = budgeted(parse(raw % (long, LONG.encode()), 0), "third_party", "none").raw
    clipped = decode(new)["function"]
    assert new == raw % (
        encode(clipped["parameters"]),
        encode(clipped["description"]).strip(b'"'),
    )


def test_numbers_in_a_schema_survive() -> None:
    given = (
        b'{"type":"function","function":{"name":"t","parameters":{"properties":{"a":{"minimum":1.10,'
        b'"maximum":1180591620717411303424,"default":1e400,"title":"%b"}}}}}' % (b"x" * 200)
    )
    new = budgeted(parse(given, 0), 200, "none").raw
    for number in (b"1.10", b"1180591620717411303424", b"1E+400"):
        assert number in new
    assert b"title" not in new


def test_what_validates_and_what_is_searched_stay_the_declared_tool() -> None:
    given = tool(wordy(40))
    new = budgeted(given, 300, "none")
    assert new.parameters is given.parameters
    assert fault(new.parameters, "{}") is not None


def test_custom_tools_have_their_description_clipped() -> None:
    raw = json.dumps({"type": "custom", "custom": {"name": "sql", "description": LONG}}).encode()
    new = budgeted(parse(raw, 0), "third_party", "none")
    assert decode(new.raw)["custom"]["description"] == new.description
    assert len(new.description.encode()) <= 1_000


ODD = {
    "another type": b'{"type":"web_search","description":"%b"}' % LONG.encode(),
    "a name that stands twice": b'{"type":"function","function":{"name":"t","description":"%b",'
    b'"parameters":{},"parameters":{}}}' % LONG.encode(),
    "parameters that are no object": b'{"type":"function","function":{"name":"t","parameters":[]}}',
    "a number that cannot be written again": b'{"type":"function","function":{"name":"t",'
    b'"parameters":{"title":"%b","description":"\\ud83d","properties":{"a":{"default":1e400}}}}}'
    % LONG.encode(),
}


@pytest.mark.parametrize("raw", ODD.values(), ids=ODD)
def test_an_odd_declaration_goes_as_it_is(raw: bytes) -> None:
    given = parse(raw, 0)
    assert budgeted(given, 100, "none") is given


def test_projection_comes_before_the_ladder() -> None:
    """References are resolved and keywords stripped whether or not it is over the budget."""
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"type": "string", "minLength": 1}},
    }
    resolved = {"type": "string", "minLength": 1}
    assert compact(schema, 5_000)["properties"] == {"a": resolved}
    assert compact(schema, None, "openai_strict")["properties"] == {
        "a": {"type": ["string", "null"]}
    }
    assert compact(schema, None, "gemini")["properties"] == {"a": resolved}


def test_the_ladder_stops_at_the_first_rung_that_fits() -> None:
    schema = {**wordy(3, 50), "$defs": {"Unused": wordy(9)}}
    assert compact(schema, 600) == wordy(3, 50)
    plain = compact(schema, 150)
    assert [list(a) for a in plain["properties"].values()] == [["type"]] * 3


def test_the_arguments_stay_where_no_rung_fits() -> None:
    new = compact(wordy(50), 100)
    assert list(new["properties"]) == list(wordy(50)["properties"])
    assert new["required"] == ["a0"]


@pytest.mark.parametrize("profile", ["none", "openai_strict"])
def test_a_schema_that_is_enforced_only_loses_its_words(profile: Profile) -> None:
    """OpenAI refuses a strict schema that leaves anything open."""
    given = tool(compact(chain(8), None, "openai_strict"), strict=True)
    assert shown(given, 100, profile)["parameters"] == given.parameters


@pytest.mark.parametrize("levels", [60, 400, 3_000])
def test_a_schema_nested_too_deeply_is_cut_to_its_arguments(levels: int) -> None:
    assert compact(chain(levels), 5_000) == {
        "type": "object",
        "properties": {"a": {"type": "object"}},
    }
    assert compact(chain(levels), None, "openai_strict") is not None


def test_a_bomb_is_small_again() -> None:
    tables = {f"L{n}": {"anyOf": [{"$ref": f"#/$defs/L{n + 1}"}] * 10} for n in range(99)}
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/L0"}}, "$defs": tables}
    new = compact(schema, 5_000)
    assert new == {"type": "object", "properties": {"a": {}}}


def test_the_same_tool_has_the_same_bytes() -> None:
    given = tool(wordy(40), LONG)
    again = replace(given)
    assert budgeted(given, 900, "gemini").raw == budgeted(again, 900, "gemini").raw
