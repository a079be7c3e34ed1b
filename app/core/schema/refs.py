"""References and definitions: `$ref` with a JSON pointer into the same schema (RFC 6901).

References to other documents and to anchors are left alone. A schema with an `$id` inside
is too: what a pointer in it means depends on where it stands.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from app.core.codec import Json, encode
from app.core.schema.walk import TABLES, everywhere, loosened, mapped, subschemas

_DEEPEST = 40
"""Subschemas within one another in what is resolved."""
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")
_TOGETHER = frozenset(
    (
        *("$ref", "allOf", "additionalItems", "additionalProperties", "anyOf", "contains", "else"),
        *("if", "items", "maxContains", "minContains", "oneOf", "patternProperties"),
        *("prefixItems", "properties", "then", "unevaluatedItems", "unevaluatedProperties"),
    )
)
"""Keywords whose meaning depends on those beside them."""
_ALONE = frozenset(
    (
        *("const", "dependencies", "dependentRequired", "dependentSchemas", "enum"),
        *("exclusiveMaximum", "exclusiveMinimum", "format", "maxItems", "maxLength"),
        *("maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum"),
        *("multipleOf", "not", "nullable", "pattern", "propertyNames", "required", "type"),
        *("uniqueItems",),
    )
)
"""Keywords that say the same wherever they stand; all others say nothing of a value."""


class _TooLarge(Exception):
    """What references make of a schema is no longer worth sending."""


def resolved(root: Json, most_bytes: int) -> Json:
    """The schema with what its references point to in their place, and without definitions
    that nothing refers to any more. A reference back to what it stands in stays.

    The schema as it is where the copies would weigh more than so many bytes: ten
    definitions that each name the next one ten times make ten thousand million copies.
    """
    if _has_scopes(root):
        return root
    try:
        new = _Resolver(root, most_bytes).inlined(root, frozenset())
    except _TooLarge:
        return root
    return root if new == root else reachable(new)


def reachable(root: Json) -> Json:
    """The schema without the definitions that no reference reaches."""
    if not any(table in root for table in TABLES) or _has_scopes(root):
        return root
    reached: set[tuple[str, ...]] = set()
    open_ = list(_references(root))
    while open_:
        reference = open_.pop()
        pointer = _pointer(reference)
        if pointer is None and reference.startswith("#"):
            return root  # an anchor may stand in any of them
        if pointer is not None and pointer not in reached:
            reached.add(pointer)
            target = _at(root, pointer)
            open_ += _references(target) if isinstance(target, dict) else ()
    kept = {pointer[:2] for pointer in reached}
    new = dict(root)
    for table in TABLES:
        if isinstance(entries := root.get(table), dict) and (table,) not in kept:
            new[table] = {n: entry for n, entry in entries.items() if (table, n) in kept}
            if not new[table]:
                del new[table]
    return new


def dereferenced(root: Json) -> Json:
    """The schema without definitions, and without the references that they leave behind: of
    what those pointed to only the type is told. Takes all that the schema took."""
    return _without(root, None if _has_scopes(root) else root)


def merged(target: Json, beside: Json) -> Json:
    """One schema for a reference's target and what stands beside the reference."""
    for key, value in beside.items():
        clash = key in _ALONE and target.get(key, value) != value
        if clash or key in _TOGETHER:
            return {**beside, "allOf": [*_listed(beside.get("allOf")), target]}
    return {**target, **beside}


class _Resolver:
    def __init__(self, root: Json, most_bytes: int) -> None:
        self._root = root
        self._room = most_bytes
        self._sizes: dict[str, int] = {}

    def inlined(self, schema: Json, within: frozenset[int]) -> Json:
        """`within` are the identities of the schemas that it stands in."""
        if len(within) > _DEEPEST:
            raise _TooLarge
        within |= {id(schema)}
        reference = schema.get("$ref")
        target = None
        if isinstance(reference, str) and (pointer := _pointer(reference)) is not None:
            target = _at(self._root, pointer)
        new = mapped(schema, lambda k, s: s if k in TABLES else self.inlined(s, within))
        if target is None or id(target) in within:
            return new
        assert isinstance(reference, str), "it was found"
        self._charge(reference, target)
        del new["$ref"]
        if isinstance(target, bool):
            return {**new, "allOf": [*_listed(new.get("allOf")), target]}
        copy = {key: value for key, value in target.items() if key not in TABLES}
        return merged(self.inlined(copy, within | {id(target)}), new)

    def _charge(self, reference: str, target: Json | bool) -> None:
        size = self._sizes.get(reference)
        if size is None:
            size = self._sizes[reference] = len(encode(target))
        self._room -= size
        if self._room < 0:
            raise _TooLarge


def _without(schema: Json, root: Json | None) -> Json:
    new = {
        key: value
        for key, value in schema.items()
        if key not in (*TABLES, *_UNEVALUATED) and not _is_local(key, value)
    }
    reference = schema.get("$ref")
    if root is not None and "$ref" not in new and isinstance(reference, str):
        kind = _type(root, reference)
        if kind and len(kind) <= len(reference) and "type" not in new:  # it may not grow
            new = {"type": kind, **new}
    return loosened(new, lambda _, inner: _without(inner, root))


def _type(root: Json, reference: str) -> str | None:
    pointer = _pointer(reference)
    target = None if pointer is None else _at(root, pointer)
    kind = target.get("type") if isinstance(target, dict) else None
    return kind if isinstance(kind, str) else None


def _is_local(key: str, value: Any) -> bool:
    return key in _REFERENCES and isinstance(value, str) and value.startswith("#")


def _has_scopes(root: Json) -> bool:
    return any(isinstance(s.get("$id"), str) for s in everywhere(root) if s is not root)


def _references(schema: Json) -> Iterator[str]:
    """Those of a schema but for its definitions."""
    yield from (schema[key] for key in _REFERENCES if isinstance(schema.get(key), str))
    for key, inner in subschemas(schema):
        if key not in TABLES:
            yield from _references(inner)


def _pointer(reference: str) -> tuple[str, ...] | None:
    """The names that a JSON pointer is made of, None for what is not one in this schema."""
    fragment = unquote(reference[1:])
    if not reference.startswith("#") or not (fragment == "" or fragment.startswith("/")):
        return None
    return tuple(n.replace("~1", "/").replace("~0", "~") for n in fragment.split("/")[1:])


def _at(root: Json, pointer: tuple[str, ...]) -> Json | bool | None:
    value: Any = root
    for name in pointer:
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value if isinstance(value, dict | bool) else None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
