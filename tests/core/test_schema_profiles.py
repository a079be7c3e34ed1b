import pytest

from app.core.codec import Json
from app.core.schema.profiles import PROFILES, Profile, gemini, openai_strict

S: Json = {"type": "string"}


def of(**arguments: Json) -> Json:
    return {"type": "object", "properties": arguments, "required": list(arguments)}


def closed(**arguments: Json) -> Json:
    return {**of(**arguments), "additionalProperties": False}


STRICT: dict[str, tuple[Json, Json]] = {
    "what it refuses": (
        {**S, "minLength": 1, "default": "x", "examples": ["x"], "pattern": "^x"},
        {**S, "pattern": "^x"},
    ),
    "a format that it does not know": ({**S, "format": "uri"}, S),
    "a format that it knows": ({**S, "format": "date"}, {**S, "format": "date"}),
    "oneOf": ({"oneOf": [S, {"type": "null"}]}, {"anyOf": [S, {"type": "null"}]}),
    "allOf": ({"allOf": [of(x=S), of(y=S)]}, closed(y=S, x=S)),
    "not and if": ({**S, "not": {"const": "x"}, "if": True, "then": True}, S),
    "an object inside": (of(x=S), closed(x=S)),
    "objects in a list": (
        {"type": "array", "items": of(x=S)},
        {"type": "array", "items": closed(x=S)},
    ),
    "a tuple": ({"type": "array", "prefixItems": [S]}, {"type": "array", "items": {}}),
    "an object of any members stays open": ({"type": "object"}, {"type": "object"}),
}
NULLABLE: dict[str, tuple[Json, Json]] = {
    "a type": (S, {"type": ["string", "null"]}),
    "types": ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
    "an enum": ({**S, "enum": ["x"]}, {"type": ["string", "null"], "enum": ["x", None]}),
    "alternatives": ({"anyOf": [S]}, {"anyOf": [S, {"type": "null"}]}),
    "a constant": (
        {"const": 1, "description": "One."},
        {"description": "One.", "anyOf": [{"const": 1}, {"type": "null"}]},
    ),
    "a reference": ({"$ref": "#"}, {"anyOf": [{"$ref": "#"}, {"type": "null"}]}),
    "anything": ({}, {}),
}
GEMINI: dict[str, tuple[Json, Json]] = {
    "what it refuses": (
        {"type": "integer", "exclusiveMinimum": 0, "multipleOf": 2, "minimum": 1},
        {"type": "integer", "minimum": 1},
    ),
    "closed objects": ({**of(x=S), "additionalProperties": False, "$schema": "x"}, of(x=S)),
    "a list of types": ({"type": ["string", "null"]}, {**S, "nullable": True}),
    "several types": (
        {"type": ["string", "integer"]},
        {"anyOf": [S, {"type": "integer"}]},
    ),
    "a branch that is null": (
        {"anyOf": [S, {"type": "null"}], "description": "X."},
        {**S, "description": "X.", "nullable": True},
    ),
    "a constant": ({**S, "const": "x"}, {**S, "enum": ["x"]}),
    "a constant number": ({"const": 1}, {}),
    "an enum of numbers": ({"type": "integer", "enum": [1, 2]}, {"type": "integer"}),
    "an enum with null": ({"enum": ["x", None]}, {"enum": ["x"], "nullable": True}),
    "formats": ({**S, "format": "uri"}, S),
    "true": (
        {"type": "object", "properties": {"x": True}},
        {"type": "object", "properties": {"x": {}}},
    ),
    "oneOf": ({"oneOf": [S, {"type": "integer"}]}, {"anyOf": [S, {"type": "integer"}]}),
    "required without a property": ({**of(x=S), "required": ["x", "y"]}, of(x=S)),
    "a reference that stayed": ({"$ref": "#"}, {}),
    "a tuple": ({"type": "array", "items": [S]}, {"type": "array", "items": {}}),
}


@pytest.mark.parametrize(("given", "wanted"), STRICT.values(), ids=STRICT)
def test_strict_takes_what_it_knows(given: Json, wanted: Json) -> None:
    assert openai_strict(of(a=given)) == closed(a=wanted)


@pytest.mark.parametrize(("given", "wanted"), NULLABLE.values(), ids=NULLABLE)
def test_strict_requires_all_and_lets_the_optional_be_null(given: Json, wanted: Json) -> None:
    assert openai_strict({**of(a=given), "required": []}) == closed(a=wanted)


def test_strict_closes_a_tool_without_arguments() -> None:
    assert openai_strict({"type": "object", "properties": {}}) == closed()


@pytest.mark.parametrize(("given", "wanted"), GEMINI.values(), ids=GEMINI)
def test_gemini_takes_what_it_knows(given: Json, wanted: Json) -> None:
    assert gemini(of(a=given)) == of(a=wanted)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("schema", [of(a=g) for g, _ in [*STRICT.values(), *GEMINI.values()]])
def test_a_profile_applied_twice_changes_nothing_more(profile: Profile, schema: Json) -> None:
    once = PROFILES[profile](schema)
    assert PROFILES[profile](once) == once
