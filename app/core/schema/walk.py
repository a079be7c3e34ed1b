"""A schema's subschemas. A property may be called `description` or `$ref`: only a walk that
knows which keywords hold schemas can tell a keyword from a name.
"""

from collections.abc import Callable, Iterator
from typing import Any

from app.core.codec import Json, encode

TABLES = ("$defs", "definitions")
"""Where definitions stand that `$ref` points to."""
_ONE = frozenset(
    (
        *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if"),
        *("items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
    )
)
_LIST = frozenset(("allOf", "anyOf", "items", "oneOf", "prefixItems"))
_MAP = frozenset([*TABLES, "dependencies", "dependentSchemas", "patternProperties", "properties"])
_TURNING = ("not", "if", "contains", "oneOf")

Change = Callable[[str, Json], Json]
"""A subschema and the keyword that holds it, into what takes its place."""


def mapped(schema: Json, change: Change) -> Json:
    """The schema with every direct subschema that is an object changed."""
    return {key: _changed(key, value, change) for key, value in schema.items()}


def subschemas(schema: Json) -> Iterator[tuple[str, Json]]:
    """Every direct subschema that is an object, with the keyword that holds it."""
    for key, value in schema.items():
        for one in _held(key, value):
            if isinstance(one, dict):
                yield key, one


def everywhere(schema: Json) -> Iterator[Json]:
    """The schema and all within it."""
    yield schema
    for _, inner in subschemas(schema):
        yield from everywhere(inner)


def loosened(schema: Json, change: Change) -> Json:
    """The same as `mapped` for a change after which a schema takes all that it took.

    What is looser inside `not` or `if`, or in a branch of `oneOf`, is stricter outside. So
    where these change, or refer to a definition that may, they go, and `oneOf` becomes `anyOf`.
    """
    new = mapped(schema, change)
    changed = {
        key
        for key in _TURNING
        if key in new and (new[key] != schema[key] or b'"$ref"' in encode(schema[key]))
    }
    if "not" in changed:
        _drop(new, "not")
    if "if" in changed:
        _drop(new, "if", "then", "else")
    if "contains" in changed and "maxContains" in new:
        _drop(new, "contains", "minContains", "maxContains")
    if "oneOf" in changed:
        return any_of(new)
    return new


def any_of(schema: Json) -> Json:
    """The schema with `anyOf` for `oneOf`; without either's second where it has both."""
    if "anyOf" in schema:
        return {key: value for key, value in schema.items() if key != "oneOf"}
    return {"anyOf" if key == "oneOf" else key: value for key, value in schema.items()}


def is_deep(value: Any, most: int) -> bool:
    """Whether a value nests more levels than this. Without recursion: it may be thousands."""
    level = [value]
    for _ in range(most):
        level = [inner for one in level for inner in _within(one)]
        if not level:
            return False
    return True


def _within(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [one for one in inner if isinstance(one, dict | list)]


def _held(key: str, value: Any) -> list[Any]:
    if key in _MAP and isinstance(value, dict):
        return list(value.values())
    if key in _LIST and isinstance(value, list):
        return value
    return [value] if key in _ONE else []


def _changed(key: str, value: Any, change: Change) -> Any:
    if key in _MAP and isinstance(value, dict):
        return {n: change(key, s) if isinstance(s, dict) else s for n, s in value.items()}
    if key in _LIST and isinstance(value, list):
        return [change(key, s) if isinstance(s, dict) else s for s in value]
    return change(key, value) if key in _ONE and isinstance(value, dict) else value


def _drop(schema: Json, *keys: str) -> None:
    for key in keys:
        schema.pop(key, None)
