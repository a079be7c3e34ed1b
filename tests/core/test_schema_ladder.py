"""The rungs, each by its row of the document's section on schema budgets, in its order."""

from app.core.codec import Json
from app.core.schema import ladder
from app.core.schema.ladder import RUNGS

S: Json = {"type": "string"}
WORDY: Json = {
    "type": "object",
    "title": "Arguments",
    "description": "All of it.",
    "properties": {
        "description": {"type": "string", "description": "Mine."},
        "list": {
            "type": "array",
            "description": "A list.",
            "items": {"type": "string", "description": "One."},
        },
    },
    "required": ["description"],
    "$defs": {"A": {"type": "string", "description": "An A."}},
}


def nested(levels: int) -> Json:
    """An object in an object, and so on; the innermost has a text."""
    inner = nested(levels - 1) if levels else S
    return {"type": "object", "properties": {"a": inner}, "required": ["a"]}


def test_the_rungs_stand_in_the_documents_order() -> None:
    assert [rung.__name__ for rung in RUNGS] == [
        "reachable",
        "without_nested_words",
        "without_words",
        "dereferenced",
        "collapsed",
        "uncombined",
    ]


def test_prune_unreachable_definitions() -> None:
    assert RUNGS[0](WORDY) == {key: value for key, value in WORDY.items() if key != "$defs"}


def test_strip_nested_property_descriptions() -> None:
    new = RUNGS[1](WORDY)
    assert new["properties"]["description"] == {"type": "string", "description": "Mine."}
    assert new["properties"]["list"] == {
        "type": "array",
        "description": "A list.",
        "items": {"type": "string"},
    }
    assert new["$defs"] == {"A": S}
    assert list(new) == ["type", "properties", "required", "$defs"]


def test_strip_all_property_descriptions() -> None:
    assert RUNGS[2](WORDY)["properties"] == {
        "description": S,
        "list": {"type": "array", "items": S},
    }


def test_drop_definition_tables() -> None:
    assert "$defs" not in RUNGS[3](WORDY)
    tree: Json = {"properties": {"a": {"$ref": "#/definitions/T"}}, "definitions": {"T": nested(1)}}
    assert RUNGS[3](tree) == {"properties": {"a": {"type": "object"}}}


def test_collapse_objects_deeper_than_three() -> None:
    assert RUNGS[4](nested(3)) == nested(3)
    cut = RUNGS[4](nested(6))
    for _ in range(4):
        cut = cut["properties"]["a"]
    assert cut == {"type": "object"}
    listed: Json = {"type": "array", "items": nested(0)}
    deep = {"properties": {"a": {"items": {"properties": {"b": listed}}}}}
    assert RUNGS[4](deep) == {
        "properties": {
            "a": {"items": {"properties": {"b": {"type": "array", "items": {"type": "object"}}}}}
        }
    }


def test_drop_any_of_one_of_all_of() -> None:
    optional = {"anyOf": [S, {"type": "null"}], "default": None}
    odd = {"oneOf": [S, {"enum": [1]}]}
    schema = {"type": "object", "properties": {"a": optional, "b": odd, "c": {"allOf": [S]}}}
    assert RUNGS[5](schema)["properties"] == {
        "a": {"type": ["string", "null"], "default": None},
        "b": {},
        "c": S,
    }


def test_arguments_that_only_an_alternative_names_are_still_named() -> None:
    schema = {
        "type": "object",
        "properties": {"a": S},
        "required": ["a"],
        "anyOf": [
            {"properties": {"b": S}, "required": ["b"]},
            {"allOf": [{"properties": {"c": S}}]},
        ],
    }
    new = RUNGS[5](schema)
    assert new["properties"] == {"a": S, "b": {}, "c": {}}
    assert new["required"] == ["a"]
    assert "anyOf" not in new


def test_members_that_nothing_evaluates_any_more_are_not_forbidden() -> None:
    schema = {"anyOf": [{"properties": {"a": S}}], "unevaluatedProperties": False}
    assert "unevaluatedProperties" not in RUNGS[5](schema)


def test_bare_is_names_types_and_what_is_required() -> None:
    assert ladder.bare({**WORDY, "additionalProperties": False}) == {
        "type": "object",
        "properties": {"description": S, "list": {"type": "array"}},
        "required": ["description"],
    }


def test_a_definition_that_is_only_ruled_out_may_not_get_looser() -> None:
    schema = {"not": {"$ref": "#/$defs/A"}, "properties": {}, "$defs": {"A": {"anyOf": [False]}}}
    assert "not" not in ladder.uncombined(schema)
