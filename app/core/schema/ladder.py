"""A schema made smaller, rung by rung, until it fits. Every rung keeps the names of the
arguments and which of them are required; none ever grows; and after each a schema takes
whatever it took before.
"""

from collections.abc import Callable, Iterator, Sequence

from app.core.codec import Json
from app.core.schema.refs import dereferenced, reachable
from app.core.schema.walk import loosened, mapped

_WORDS = frozenset(["$comment", "description", "example", "examples", "title"])
"""Keywords that explain, and say nothing of a value."""
_COMBINATIONS = ("anyOf", "oneOf", "allOf")
_UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")
_DEEPEST = 3
"""Levels below the arguments' object that keep their objects' members."""
_BELOW = frozenset(
    (
        *("additionalItems", "additionalProperties", "contains", "items", "patternProperties"),
        *("prefixItems", "properties"),
    )
)
"""Keywords whose schemas are about what a value holds, and not about the value."""

Rung = Callable[[Json], Json]


def without_nested_words(root: Json) -> Json:
    """No descriptions but the arguments' own."""
    arguments = root.get("properties")
    if not isinstance(arguments, dict):
        return without_words(root)
    rest = without_words({k: v for k, v in root.items() if k != "properties"})
    kept = {
        name: mapped(inner, lambda _, s: without_words(s)) if isinstance(inner, dict) else inner
        for name, inner in arguments.items()
    }
    return {key: kept if key == "properties" else rest[key] for key in root if key not in _WORDS}


def without_words(schema: Json) -> Json:
    """No descriptions at all."""
    kept = {key: value for key, value in schema.items() if key not in _WORDS}
    return mapped(kept, lambda _, inner: without_words(inner))


def collapsed(schema: Json, level: int = 0) -> Json:
    """Objects deeper than three levels say only that they are objects."""
    new = {key: value for key, value in schema.items() if key not in _UNEVALUATED}
    if level > _DEEPEST and any(key in new for key in ("properties", "additionalProperties")):
        return {key: value for key, value in new.items() if key in ("type", "nullable")}
    return loosened(new, lambda key, inner: collapsed(inner, level + (key in _BELOW)))


def uncombined(root: Json) -> Json:
    """No alternatives; the arguments that only they name are still named."""
    new = _uncombined(root)
    named = dict(_arguments(root))
    if named:
        known = new.get("properties")
        new["properties"] = {**named, **(known if isinstance(known, dict) else {})}
    return new


def bare(root: Json) -> Json:
    """The arguments' names, their types, and which are required: for a schema that is nested
    too deeply to be looked at."""
    properties = root.get("properties")
    kept = {k: v for k, v in root.items() if k in ("type", "properties", "required")}
    if isinstance(properties, dict):
        kept["properties"] = {name: _typed(inner) for name, inner in properties.items()}
    return kept


RUNGS: Sequence[Rung] = (
    reachable,
    without_nested_words,
    without_words,
    dereferenced,
    collapsed,
    uncombined,
)
ONLY_WORDS = 3
"""So many rungs leave what a schema demands as it is."""


def _uncombined(schema: Json) -> Json:
    dropped = (*_COMBINATIONS, *_UNEVALUATED)
    kept = {key: value for key, value in schema.items() if key not in dropped}
    kinds = _types(schema)
    if kinds and "type" not in kept:
        kept = {"type": kinds[0] if len(kinds) == 1 else kinds, **kept}
    return loosened(kept, lambda _, inner: _uncombined(inner))


def _types(schema: Json) -> list[str]:
    """The types that the first combination whose branches all say one leaves open."""
    for key in _COMBINATIONS:
        branches = _list(schema.get(key))
        kinds = [kind for b in branches if isinstance(b, dict) and (kind := _type(b))]
        if kinds and len(kinds) == len(branches):
            return list(dict.fromkeys(kinds[:1] if key == "allOf" else kinds))
    return []


def _arguments(schema: Json) -> Iterator[tuple[str, Json]]:
    for key in _COMBINATIONS:
        for branch in _list(schema.get(key)):
            if isinstance(branch, dict):
                yield from _arguments(branch)
                names = branch.get("properties")
                for name in names if isinstance(names, dict) else ():
                    yield name, {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _typed(schema: object) -> Json:
    kind = _type(schema) if isinstance(schema, dict) else None
    return {"type": kind} if kind else {}


def _type(schema: Json) -> str | None:
    kind = schema.get("type")
    return kind if isinstance(kind, str) else None
