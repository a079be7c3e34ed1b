"""The short notation for parameters in `services/*.toml`, and the JSON Schema it stands for.

A field is `type: description`, where the type is a JSON type, a string format (`date`), a range
(`integer 1..100`), a choice (`open|closed`) or an array of any of these (`string[]`, `(a|b)[]`).
A table is an object: `about` is its own field, `needs` names what it requires, the rest are its
properties.
"""

from app.core.codec import Json

_FORMATS = ("date", "date-time", "email", "uri")
_TYPES = ("string", "number", "integer", "boolean", "object")


def schema(field: str | Json) -> Json:
    """The JSON Schema of one field."""
    if isinstance(field, str):
        word, _, description = " ".join(field.split()).partition(": ")
        return {**_typed(word), "description": description}
    properties = {name: inner for name, inner in field.items() if name not in ("about", "needs")}
    whole = schema(field["about"])
    inside = closed(properties, field.get("needs", "").split())
    if whole["type"] == "array":
        return {**whole, "items": inside}
    return {**inside, "description": whole["description"]}


def closed(fields: Json, required: list[str]) -> Json:
    """An object that admits these fields and no others."""
    properties = {name: schema(field) for name, field in fields.items()}
    shape = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**shape, "required": required} if required else shape


def _typed(word: str) -> Json:
    if word.endswith("[]"):
        return {"type": "array", "items": _typed(word.removesuffix("[]").strip("()"))}
    if "|" in word:
        return {"type": "string", "enum": word.split("|")}
    if word in _FORMATS:
        return {"type": "string", "format": word}
    kind, _, bounds = word.partition(" ")
    if kind not in _TYPES:
        raise ValueError(f"`{word}` is not a field type")
    return {"type": kind, **_bounded(bounds)}


def _bounded(bounds: str) -> Json:
    if not bounds:
        return {}
    low, high = (float(bound) for bound in bounds.split(".."))
    # Whole bounds are written as JSON integers, as a person would write them.
    return {
        "minimum": int(low) if low.is_integer() else low,
        "maximum": int(high) if high.is_integer() else high,
    }
