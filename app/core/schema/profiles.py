"""What an upstream takes of JSON Schema: the keywords that it refuses are dropped.

`openai_strict` is what OpenAI's structured outputs take, in the shape that they ask for
(https://platform.openai.com/docs/guides/structured-outputs): every object is closed, every
member is required, and one that need not be given may be null. It demands more than the
declared schema does. `gemini` is the subset of OpenAPI 3.0 that Google's function
declarations are (https://ai.google.dev/api/caching#Schema): it demands less, if `nullable`
is read as OpenAPI means it.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from app.core.codec import Json
from app.core.schema.refs import dereferenced, merged
from app.core.schema.walk import TABLES, any_of, mapped

Profile = Literal["none", "openai_strict", "gemini"]

_STRICT = frozenset(
    (
        *("$ref", "additionalProperties", "anyOf", "const", "description", "enum"),
        *("exclusiveMaximum", "exclusiveMinimum", "format", "items", "maxItems", "maximum"),
        *("minItems", "minimum", "multipleOf", "pattern", "properties", "required", "title"),
        *("type",),
    )
).union(TABLES)
_STRICT_FORMATS = frozenset(
    (*("date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"),)
)
_GEMINI = frozenset(
    (
        *("anyOf", "default", "description", "enum", "example", "format", "items", "maxItems"),
        *("maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties"),
        *("minimum", "nullable", "pattern", "properties", "propertyOrdering", "required", "title"),
        *("type",),
    )
)
_GEMINI_FORMATS = frozenset(("date-time", "double", "enum", "float", "int32", "int64"))
_NULL: Json = {"type": "null"}


def openai_strict(root: Json) -> Json:
    """The schema as strict mode wants it. An object that lists no members takes any, which
    strict mode cannot say: it is left open, since closed it could only be empty."""
    new = _strict(root)
    return _closed(new) if new.get("properties") == {} else new


def gemini(root: Json) -> Json:
    """The schema as Google's function declarations want it."""
    return _gemini(dereferenced(root))


PROFILES: Mapping[Profile, Callable[[Json], Json]] = {
    "none": lambda root: root,
    "openai_strict": openai_strict,
    "gemini": gemini,
}


def _strict(schema: Json) -> Json:
    new = _flat(mapped(schema, lambda _, inner: _strict(inner)))
    if new.get("format") not in _STRICT_FORMATS:
        new.pop("format", None)
    new = {key: value for key, value in new.items() if key in _STRICT}
    return _closed(new) if new.get("properties") else new


def _closed(schema: Json) -> Json:
    members = schema["properties"]
    if not isinstance(members, dict):
        return schema
    required = _list(schema.get("required"))
    members = {n: s if n in required else _nullable(s) for n, s in members.items()}
    closed = {"properties": members, "required": list(members), "additionalProperties": False}
    return {**schema, **closed}


def _nullable(schema: Any) -> Any:
    """The schema, or null."""
    if not isinstance(schema, dict) or _takes_null(schema):
        return schema
    kinds = schema.get("type")
    if "const" in schema or "$ref" in schema:
        said = {key: schema[key] for key in ("description", "title") if key in schema}
        rest = {key: value for key, value in schema.items() if key not in said}
        return {**said, "anyOf": [rest, _NULL]}
    new = dict(schema)
    if isinstance(kinds, str | list):
        new["type"] = [*([kinds] if isinstance(kinds, str) else kinds), "null"]
    if isinstance(new.get("enum"), list):
        new["enum"] = [*new["enum"], None]
    if isinstance(new.get("anyOf"), list):
        new["anyOf"] = [*new["anyOf"], _NULL]
    return new


def _takes_null(schema: Json) -> bool:
    kinds, branches, enum = schema.get("type"), schema.get("anyOf"), schema.get("enum")
    if isinstance(branches, list):
        return any(isinstance(branch, dict) and _takes_null(branch) for branch in branches)
    if isinstance(enum, list) and None not in enum:
        return False
    return kinds == "null" or (isinstance(kinds, list) and "null" in kinds)


def _gemini(schema: Json) -> Json:
    new = _flat(mapped(schema, lambda _, inner: _gemini(inner)))
    if isinstance(const := new.get("const"), str):
        new.setdefault("enum", [const])
    new = _one_type(_less_null(new))
    enum = new.get("enum")
    if not isinstance(enum, list) or not all(isinstance(value, str) for value in enum):
        new.pop("enum", None)
    if new.get("format") not in _GEMINI_FORMATS:
        new.pop("format", None)
    members = new.get("properties")
    if isinstance(members, dict):
        new["properties"] = {n: s if isinstance(s, dict) else {} for n, s in members.items()}
    if isinstance(new.get("items"), bool):
        new["items"] = {}
    if "required" in new:
        # A required name without a property is refused: "property is not defined".
        known = members if isinstance(members, dict) else {}
        new["required"] = [n for n in _list(new["required"]) if n in known]
    return {key: value for key, value in new.items() if key in _GEMINI}


def _less_null(schema: Json) -> Json:
    """`nullable` for a branch, a type or a value that is null."""
    branches, enum = schema.get("anyOf"), schema.get("enum")
    if isinstance(branches, list) and _NULL in branches:
        rest = [branch for branch in branches if branch != _NULL]
        schema = {key: value for key, value in schema.items() if key != "anyOf"}
        if len(rest) == 1 and isinstance(rest[0], dict):
            schema = merged(rest[0], schema)
        elif rest:
            schema["anyOf"] = rest
        schema["nullable"] = True
    if isinstance(enum, list) and None in enum:
        schema = {**schema, "enum": [v for v in enum if v is not None], "nullable": True}
    return schema


def _one_type(schema: Json) -> Json:
    """A list of types is refused; alternatives that each have one are not."""
    kinds = schema.get("type")
    if not isinstance(kinds, list):
        return schema
    rest = [kind for kind in kinds if kind != "null"]
    new = {key: value for key, value in schema.items() if key != "type"}
    if len(rest) == 1:
        new = {"type": rest[0], **new}
    elif rest and "anyOf" not in new:
        new["anyOf"] = [{"type": kind} for kind in rest]
    if "null" in kinds:
        new["nullable"] = True
    return new


def _flat(schema: Json) -> Json:
    """No `allOf`, `oneOf` or tuples: both profiles refuse them. What they share is told with
    keywords that are taken."""
    if "prefixItems" in schema or isinstance(schema.get("items"), list):
        schema = {**schema, "items": {}}
    schema = any_of(schema) if "oneOf" in schema else dict(schema)
    for branch in _list(schema.pop("allOf", None)):
        if isinstance(branch, dict):
            schema = _joined(schema, branch)
    return schema


def _joined(schema: Json, branch: Json) -> Json:
    """One schema that takes what both take, and perhaps more."""
    new = {**branch, **schema}
    members, more = schema.get("properties"), branch.get("properties")
    if isinstance(members, dict) and isinstance(more, dict):
        new["properties"] = {**more, **members}
    required, also = schema.get("required"), branch.get("required")
    if isinstance(required, list) and isinstance(also, list):
        new["required"] = list(dict.fromkeys([*required, *also]))
    return new


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
