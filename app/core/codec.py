"""JSON in and out without changing a number.

Floats are read as decimals, so `1.10` stays `1.10` and `1e400` does not become infinity;
integers keep every digit. What msgspec refuses and the world sends all the same (lone
surrogates, when a stream cuts an emoji in two) goes through the standard library.
"""

import json
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import msgspec

Json = dict[str, Any]
"""A JSON object as it is on the wire."""

_decoder = msgspec.json.Decoder(float_hook=Decimal)
_encoder = msgspec.json.Encoder(decimal_format="number")


def decode(raw: bytes | msgspec.Raw | str) -> Any:
    """The value that JSON text says. Raises ValueError for what is not JSON."""
    try:
        return _decoder.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return _decode_leniently(raw)


def decode_object(text: bytes) -> Json | None:
    """The object that JSON text says, None where it says something else or nothing."""
    try:
        value = decode(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def encode(value: Any) -> bytes:
    """Compact JSON text."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8: only an escape can say it
        return json.dumps(value, separators=(",", ":"), default=float).encode()


def fused(pieces: Iterable[str]) -> str:
    """Pieces of a text as one. A stream may cut a character that takes two escapes between
    them; the halves become one again."""
    text = "".join(pieces)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return text


def is_deeper(value: Any, most: int) -> bool:
    """Whether a value is nested more deeply than this."""
    level = [value]
    for _ in range(most):
        level = [
            item
            for one in level
            if isinstance(one, dict | list)
            for item in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return any(isinstance(one, dict | list) for one in level)


def repeats(raw: bytes) -> bool:
    """Whether an object in this JSON names a member twice: parsers differ in the one they take."""
    found: list[bool] = []

    def look(pairs: list[tuple[str, Any]]) -> None:
        found.append(len(dict(pairs)) < len(pairs))

    json.loads(raw, object_pairs_hook=look, parse_int=str, parse_float=str)
    return any(found)


def _decode_leniently(raw: bytes | msgspec.Raw | str) -> Any:
    text = raw if isinstance(raw, str) else bytes(raw).decode()
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
