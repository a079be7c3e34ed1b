import pytest

from app.core.codec import Json
from app.core.schema.valid import fault

CITY: Json = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
CLOSED: Json = {**CITY, "additionalProperties": False}
REF: Json = {
    "type": "object",
    "properties": {"node": {"$ref": "#/$defs/Node"}},
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/Node"}},
            "required": ["v"],
        }
    },
}
VALID = {
    "required only": (CITY, '{"city":"Oslo"}'),
    "all": (CITY, '{"city":"Oslo","days":3}'),
    "an integral float is an integer": (CITY, '{"city":"Oslo","days":3.0}'),
    "an unknown member where they are allowed": (CITY, '{"city":"Oslo","x":1}'),
    "nothing for nothing": ({}, ""),
    "through a reference": (REF, '{"node":{"v":1}}'),
    "a reference that leads nowhere": ({"properties": {"a": {"$ref": "#/nowhere"}}}, '{"a":1}'),
    "a reference elsewhere is not followed": (
        {"properties": {"a": {"$ref": "http://127.0.0.1:1/x"}}},
        '{"a":1}',
    ),
    "a schema that is none": ({"type": 5, "required": 3}, '{"a":1}'),
    "a pattern is not run": (
        {"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}},
        '{"a":"' + "a" * 40 + '!"}',
    ),
}
INVALID = {
    "required is missing": (CITY, "{}", "'city' is a required property"),
    "another name": (CITY, '{"town":"Oslo"}', "'city'"),
    "another type": (CITY, '{"city":"Oslo","days":"three"}', "`days`"),
    "an unknown member": (CLOSED, '{"city":"Oslo","x":1}', "'x'"),
    "behind a reference": (REF, '{"node":{"v":1,"next":{}}}', "`node.next`"),
    "not an object": (CITY, '["Oslo"]', "must be an object"),
    "not JSON": (CITY, '{"city":', "not valid JSON"),
    "nothing": (CITY, "", "'city'"),
}


@pytest.mark.parametrize(("schema", "arguments"), VALID.values(), ids=VALID)
def test_valid_arguments_have_no_fault(schema: Json, arguments: str) -> None:
    assert fault(schema, arguments) is None


@pytest.mark.parametrize(("schema", "arguments", "says"), INVALID.values(), ids=INVALID)
def test_a_fault_says_what_is_wrong(schema: Json, arguments: str, says: str) -> None:
    assert says in (fault(schema, arguments) or "")


@pytest.mark.parametrize("padding", range(12))
def test_a_schema_that_goes_in_circles_allows_all(padding: int) -> None:
    """Where Python's stack ends is chance, and in Rust code that is a panic."""
    inner: Json = {"$ref": "#/properties/a"}
    for _ in range(padding):
        inner = {"allOf": [inner]}
    assert fault({"properties": {"a": {"not": inner}}}, '{"a":1}') is None
