"""The notation of the service tables."""

import pytest

from app.demo.fields import closed, schema

from .builders import Json

NOTATIONS = {
    "type": ("string: A", {"type": "string"}),
    "format": ("date-time: A", {"type": "string", "format": "date-time"}),
    "range": ("integer 1..5: A", {"type": "integer", "minimum": 1, "maximum": 5}),
    "range of fractions": ("number -1..0.5: A", {"type": "number", "minimum": -1, "maximum": 0.5}),
    "choice": ("a|b: A", {"type": "string", "enum": ["a", "b"]}),
    "array": ("email[]: A", {"type": "array", "items": {"type": "string", "format": "email"}}),
    "array of a choice": (
        "(a|b)[]: A",
        {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
    ),
}
POINT = {"needs": "lat", "lat": "number: B", "lon": "number: C"}
POINT_SCHEMA = {
    "type": "object",
    "properties": {
        "lat": {"type": "number", "description": "B"},
        "lon": {"type": "number", "description": "C"},
    },
    "additionalProperties": False,
    "required": ["lat"],
}


@pytest.mark.parametrize(("field", "expected"), NOTATIONS.values(), ids=NOTATIONS)
def test_a_field(field: str, expected: Json) -> None:
    assert schema(field) == expected | {"description": "A"}


def test_an_object() -> None:
    assert schema({"about": "object: A", **POINT}) == POINT_SCHEMA | {"description": "A"}


def test_an_array_of_objects() -> None:
    array = {"type": "array", "items": POINT_SCHEMA, "description": "A"}
    assert schema({"about": "object[]: A", **POINT}) == array


def test_line_breaks_of_the_table_are_not_part_of_a_description() -> None:
    assert schema("string: One\nline.")["description"] == "One line."


def test_nothing_required_leaves_the_key_out() -> None:
    assert "required" not in closed({"a": "string: A"}, [])


def test_an_unknown_type_is_an_error() -> None:
    with pytest.raises(ValueError, match="`strin`"):
        schema("strin: A")
