"""Are a call's arguments valid against the schema that the client declared?

Only blind calls are asked: calls of declared tools are the upstream's business.
"""

from decimal import Decimal
from typing import Any

from jsonschema import Draft202012Validator, validators
from jsonschema.exceptions import ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable

from app.core.codec import Json, decode

_extend: Any = validators.extend  # untyped in the stubs


def _is_integer(checker: Any, value: object) -> bool:
    """Numbers with a point are decimals here, and `3.0` is an integer in JSON Schema."""
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return isinstance(value, int) and not isinstance(value, bool)


_Validator = _extend(
    Draft202012Validator,
    # JSON Schema's patterns are ECMAScript and the client writes them: Python's engine reads
    # some of them differently, and a bad one would hold the event loop for as long as it likes.
    {"pattern": None, "patternProperties": None},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)
_UNREADABLE = (Unresolvable, RecursionError, ArithmeticError, TypeError, ValueError, KeyError)
_PANIC = "PanicException"
"""What the registry's Rust code raises, and no module exports, where a schema refers to itself
until Python's stack ends."""
_NOWHERE: Registry[Any] = Registry()
"""A `$ref` stays inside its tool: nothing is ever fetched."""


def fault(schema: Json, arguments: str) -> str | None:
    """What is wrong with the arguments, or None. A schema that cannot be read allows them all."""
    try:
        value = decode(arguments or "{}")
    except ValueError:
        return "the arguments are not valid JSON"
    if not isinstance(value, dict):
        return "the arguments must be an object"
    try:
        found = next(_Validator(schema, registry=_NOWHERE).iter_errors(value), None)
    except BaseException as error:
        if isinstance(error, _UNREADABLE) or type(error).__name__ == _PANIC:
            return None
        raise
    return None if found is None else _sentence(found)


def _sentence(error: ValidationError) -> str:
    where = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.absolute_path)
    return f"`{where.lstrip('.') or 'arguments'}`: {error.message}"
