"""`tool_choice` and what it asks for."""

from dataclasses import dataclass
from typing import Literal

from app.core.chunks import dicts
from app.core.codec import Json

Kind = Literal["auto", "none", "required", "named", "allowed", "other"]

_WORDS: dict[object, Kind] = {
    "auto": "auto",
    "none": "none",
    "required": "required",
    "any": "required",  # Mistral's word for it
}


@dataclass(frozen=True, slots=True)
class Choice:
    """A `tool_choice`, read. `other` is what we do not know: it goes through."""

    kind: Kind = "auto"
    names: tuple[str, ...] = ()
    """The tools that it names."""
    required: bool = False
    """The client does not take a reply without a call."""
    value: Json | None = None
    """The object, where it is one."""

    def allowing(self, names: list[str], value: Json) -> Json:
        """An `allowed_tools` choice with its list cut to the names declared and added to."""
        holder = value.get("allowed_tools")
        nested = isinstance(holder, dict)
        flat: Json = holder if nested and isinstance(holder, dict) else value
        kept = [entry for entry in dicts(flat.get("tools")) if _name(entry) in names]
        known = {_name(entry) for entry in kept}
        added = [_entry(name, nested) for name in names if name not in known]
        narrowed = {**flat, "tools": kept + added}
        return {**value, "allowed_tools": narrowed} if nested else narrowed


def read_choice(value: object) -> Choice:
    """What the request's `tool_choice` says."""
    if value is None:
        return Choice()
    if isinstance(value, str):
        kind = _WORDS.get(value, "other")
        return Choice(kind, required=kind == "required")
    if not isinstance(value, dict):
        return Choice("other")
    if value.get("type") == "allowed_tools":
        holder = value.get("allowed_tools")
        flat = holder if isinstance(holder, dict) else value
        names = tuple(name for entry in dicts(flat.get("tools")) if (name := _name(entry)))
        return Choice("allowed", names, flat.get("mode") == "required", value)
    name = _name(value)
    return Choice("named", (name,), True, value) if name else Choice("other")


def _name(entry: Json) -> str:
    inner = entry.get(str(entry.get("type")))
    name = (inner if isinstance(inner, dict) else entry).get("name")
    return name if isinstance(name, str) else ""


def _entry(name: str, nested: bool) -> Json:
    if nested:
        return {"type": "function", "function": {"name": name}}
    return {"type": "function", "name": name}
