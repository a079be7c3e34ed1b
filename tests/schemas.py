"""Schemas and arguments of any shape, for the properties of compaction."""

from typing import Any

from hypothesis import strategies as st

from app.core.codec import Json

NAMES = st.sampled_from(["a", "b", "description", "$ref", "properties"])
"""Some arguments are called as keywords are."""
KINDS = st.sampled_from(["string", "integer", "object", "array", "null", "boolean"])
TEXTS = st.sampled_from(["", "Short.", "A description that has some length to it. " * 3])
ATOMS = st.sampled_from([None, True, 0, 1, 2, "x", "y"])
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(NAMES, VALUES, max_size=4)


def _extended(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=2)
    members = st.dictionaries(NAMES, inner, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": KINDS | st.lists(KINDS, min_size=1, max_size=2, unique=True),
            "description": TEXTS,
            "properties": members,
            "required": st.lists(NAMES, max_size=1),
            "additionalProperties": inner,
            "patternProperties": members,
            "propertyNames": inner,
            "unevaluatedProperties": inner,
            "dependentSchemas": members,
            "items": inner,
            "prefixItems": several,
            "unevaluatedItems": inner,
            "contains": inner,
            "maxContains": st.integers(0, 2),
            "anyOf": several,
            "oneOf": several,
            "allOf": several,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "enum": st.lists(ATOMS, min_size=1, max_size=3, unique_by=repr),
            "const": ATOMS,
        },
    )


def _subschemas(*references: str) -> st.SearchStrategy[Any]:
    """Schemas that refer to these. None refers to itself: that has no verdict to compare."""
    leaves = [st.booleans(), st.builds(lambda kind: {"type": kind}, KINDS)]
    if references:
        one = st.sampled_from(references)
        leaves += [
            st.builds(lambda reference: {"$ref": reference}, one),
            st.builds(lambda r, text: {"$ref": r, "description": text}, one, TEXTS),
            st.builds(lambda r, name: {"$ref": r, "required": [name]}, one, NAMES),
            st.builds(lambda r, kind: {"$ref": r, "type": kind}, one, KINDS),
            st.builds(lambda r, name: {"$ref": r, "properties": {name: False}}, one, NAMES),
        ]
    return st.recursive(st.one_of(leaves), _extended, max_leaves=6)


_LAST = _subschemas()
_MIDDLE = _subschemas("#/$defs/A")
_ANY = _subschemas("#/$defs/A", "#/$defs/B", "#/definitions/C~1%25")


@st.composite
def schemas(draw: st.DrawFn) -> Json:
    """The schema of a tool's arguments."""
    root: Json = draw(_extended(_ANY))
    root["type"] = "object"
    root["properties"] = draw(st.dictionaries(NAMES, _ANY, max_size=3))
    root["$defs"] = {"A": draw(_LAST), "B": draw(_MIDDLE)}
    root["definitions"] = {"C/%": draw(_MIDDLE)}
    return root


def fitting(schema: Any) -> st.SearchStrategy[Any]:
    """Values that a plain schema takes, for most of what people write: types, enumerations,
    members, items and alternatives."""
    if not isinstance(schema, dict):
        return ATOMS
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return st.one_of([fitting(branch) for branch in schema[key]])
    if "const" in schema or "enum" in schema:
        return st.sampled_from(schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "object" or "properties" in schema:
        members = {name: fitting(inner) for name, inner in schema.get("properties", {}).items()}
        required = {name: members.pop(name, ATOMS) for name in schema.get("required", [])}
        return st.fixed_dictionaries(required, optional=members)
    if schema.get("type") == "array":
        least = schema.get("minItems", 0)
        return st.lists(fitting(schema.get("items")), min_size=least, max_size=least + 2)
    plain: dict[str, st.SearchStrategy[Any]] = {
        "string": st.text("xyz 1", min_size=schema.get("minLength", 0), max_size=9),
        "integer": st.integers(schema.get("minimum", 0), schema.get("maximum", 99)),
        "number": st.integers(schema.get("minimum", 0), schema.get("maximum", 99)),
        "boolean": st.booleans(),
    }
    return plain.get(schema.get("type", ""), ATOMS)
