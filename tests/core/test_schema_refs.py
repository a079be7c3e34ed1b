import pytest

from app.core.codec import Json, encode
from app.core.schema.refs import dereferenced, merged, reachable, resolved

A: Json = {"type": "string", "description": "An A."}
NODE: Json = {
    "type": "object",
    "properties": {"next": {"$ref": "#/$defs/Node"}},
}


def with_a(reference: Json, **tables: Json) -> Json:
    return {"type": "object", "properties": {"a": reference}, **tables}


RESOLVED = {
    "$defs": (with_a({"$ref": "#/$defs/A"}, **{"$defs": {"A": A}}), A),
    "definitions": (with_a({"$ref": "#/definitions/A"}, definitions={"A": A}), A),
    "a pointer with ~0 and ~1": (with_a({"$ref": "#/$defs/x~1y~0z"}, **{"$defs": {"x/y~z": A}}), A),
    "a pointer with %-escapes": (
        with_a({"$ref": "#/$defs/a%20%C3%A9"}, **{"$defs": {"a é": A}}),
        A,
    ),
    "a pointer through a list": (
        with_a({"$ref": "#/$defs/L/anyOf/1"}, **{"$defs": {"L": {"anyOf": [True, A]}}}),
        A,
    ),
    "through another": (
        with_a({"$ref": "#/$defs/B"}, **{"$defs": {"A": A, "B": {"$ref": "#/$defs/A"}}}),
        A,
    ),
    "words beside it win": (
        with_a({"$ref": "#/$defs/A", "description": "Mine."}, **{"$defs": {"A": A}}),
        {"type": "string", "description": "Mine."},
    ),
    "what it demands is added": (
        with_a({"$ref": "#/$defs/A", "maxLength": 3}, **{"$defs": {"A": A}}),
        {**A, "maxLength": 3},
    ),
    "what contradicts it stands beside it": (
        with_a({"$ref": "#/$defs/A", "type": "integer"}, **{"$defs": {"A": A}}),
        {"type": "integer", "allOf": [A]},
    ),
    "a schema that is false": (
        with_a({"$ref": "#/$defs/A"}, **{"$defs": {"A": False}}),
        {"allOf": [False]},
    ),
}
LEFT = {
    "another document": with_a({"$ref": "https://example.com/a.json"}),
    "another document's place": with_a({"$ref": "other.json#/$defs/A"}, **{"$defs": {"A": A}}),
    "an anchor": with_a({"$ref": "#A"}, **{"$defs": {"A": {"$anchor": "A", **A}}}),
    "nowhere": with_a({"$ref": "#/$defs/B"}, **{"$defs": {"A": A}}),
    "the root": with_a({"$ref": "#"}),
    "itself": with_a({"$ref": "#/properties/a"}),
    "an argument called $ref": {"properties": {"$ref": A}},
    "a value called $ref": with_a({"default": {"$ref": "#/$defs/A"}}, **{"$defs": {"A": A}}),
    "a schema with an $id of its own": with_a(
        {"$id": "https://example.com/b", "$ref": "#/$defs/A"}, **{"$defs": {"A": A}}
    ),
    "not a text": with_a({"$ref": 5}),
}


@pytest.mark.parametrize(("schema", "a"), RESOLVED.values(), ids=RESOLVED)
def test_a_reference_gives_way_to_what_it_points_to(schema: Json, a: Json) -> None:
    assert resolved(schema, 10_000) == {"type": "object", "properties": {"a": a}}


@pytest.mark.parametrize("schema", LEFT.values(), ids=LEFT)
def test_other_references_are_left_alone(schema: Json) -> None:
    assert resolved(schema, 10_000) is schema


def test_a_circle_is_entered_once() -> None:
    schema = with_a({"$ref": "#/$defs/Node"}, **{"$defs": {"Node": NODE, "Unused": A}})
    assert resolved(schema, 10_000) == with_a(NODE, **{"$defs": {"Node": NODE}})


def test_the_root_may_be_a_reference() -> None:
    schema = {"$ref": "#/$defs/Args", "$defs": {"Args": with_a(A)}}
    assert resolved(schema, 10_000) == with_a(A)


def bomb(levels: int, times: int) -> Json:
    """`times` to the power of `levels` copies."""
    tables = {
        f"L{at}": {"properties": {f"p{n}": {"$ref": f"#/$defs/L{at + 1}"} for n in range(times)}}
        for at in range(levels)
    }
    return with_a({"$ref": "#/$defs/L0"}, **{"$defs": {**tables, f"L{levels}": A}})


@pytest.mark.parametrize(
    "schema",
    [
        bomb(10, 10),
        bomb(200, 1),
        with_a({"allOf": [{"$ref": "#/$defs/A"}] * 5_000}, **{"$defs": {"A": {"not": [A] * 99}}}),
    ],
    ids=["exponential", "a long chain", "many copies"],
)
def test_references_that_would_blow_a_schema_up_stay(schema: Json) -> None:
    assert resolved(schema, 4 * len(encode(schema))) is schema


def test_definitions_that_nothing_reaches_go() -> None:
    tables: Json = {
        "A": {"$ref": "#/$defs/B/items"},
        "B": {"items": {"type": "string"}},
        "C": {"$ref": "#/$defs/C"},
    }
    schema = with_a({"$ref": "#/$defs/A"}, **{"$defs": tables, "definitions": {"D": A}})
    del tables["C"]
    assert reachable(schema) == with_a({"$ref": "#/$defs/A"}, **{"$defs": tables})
    assert reachable(with_a(A, **{"$defs": {"A": A}})) == with_a(A)
    anchored = with_a({"$ref": "#A"}, **{"$defs": {"A": {"$anchor": "A"}}})
    assert reachable(anchored) == anchored


def test_a_dropped_reference_still_tells_the_type() -> None:
    schema = with_a(
        {"$ref": "#/$defs/Node", "description": "The first."}, **{"$defs": {"Node": NODE}}
    )
    assert dereferenced(schema) == with_a({"type": "object", "description": "The first."})
    remote = with_a({"$ref": "https://example.com/a.json"})
    assert dereferenced(remote) == remote


def test_what_is_looser_inside_goes_where_it_would_be_stricter_outside() -> None:
    reference = {"$ref": "#/$defs/A"}
    table = {"$defs": {"A": {"minimum": 3}}}
    assert dereferenced(with_a({"not": reference}, **table)) == with_a({})
    assert dereferenced(with_a({"oneOf": [reference, True]}, **table)) == with_a(
        {"anyOf": [{}, True]}
    )
    guarded = {"if": reference, "then": False, "else": True, "title": "A"}
    assert dereferenced(with_a(guarded, **table)) == with_a({"title": "A"})
    counted = {"contains": reference, "maxContains": 1}
    assert dereferenced(with_a(counted, **table)) == with_a({})


def test_members_of_both_sides_are_not_mixed() -> None:
    closed = {"properties": {"a": True}, "additionalProperties": False}
    beside = {"properties": {"b": True}, "allOf": [True]}
    assert merged(closed, beside) == {"properties": {"b": True}, "allOf": [True, closed]}
