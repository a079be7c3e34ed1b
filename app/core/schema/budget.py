"""A tool whose declaration fits a budget. What validates calls and what search reads is the
tool as it was declared: only what the model is shown changes.
"""

from dataclasses import replace
from typing import Literal

from app.core.body import Body
from app.core.codec import Json, decode, encode
from app.core.schema.clip import clip, clipped
from app.core.schema.ladder import ONLY_WORDS, RUNGS, bare
from app.core.schema.profiles import PROFILES, Profile
from app.core.schema.refs import resolved
from app.core.schema.walk import is_deep
from app.core.tools import Tool

SchemaBudget = Literal["off", "third_party"] | int
"""Bytes that one tool's `parameters` may have, as compact JSON. A description may have a
fifth of that. `third_party` is 5,000 and 1,000: Codex's budget for tools of MCP servers."""

LEAST = 100
"""The smallest budget: less has no room for the names of the arguments."""
_THIRD_PARTY = 5_000
_DESCRIPTIONS = 5
_GROWTH = 4
"""A schema with its references resolved may weigh so many times what was sent."""
_DEEPEST = 100
"""Levels of JSON; schemas that people write have 20."""


def read_schema_budget(text: str) -> SchemaBudget:
    """What a header or a flag says. Raises ValueError that says what would be right."""
    word = text.strip().lower()
    if word in ("off", "third_party"):
        return "off" if word == "off" else "third_party"
    if word.isascii() and word.isdigit() and len(word) < 10 and int(word) >= LEAST:
        return int(word)
    raise ValueError(
        "must be `off`, `third_party` (5,000 bytes a schema, 1,000 a description), "
        f"or a number of bytes from {LEAST} on"
    )


def budget_bytes(budget: SchemaBudget) -> int | None:
    """Bytes that a schema may have, None for any number: the narrower budget is the smaller."""
    if budget == "off":
        return None
    return _THIRD_PARTY if budget == "third_party" else budget


def compact(
    schema: Json, most_bytes: int | None, profile: Profile = "none", *, strict: bool = False
) -> Json:
    """The schema as a profile wants it, in at most so many bytes of compact JSON if any rung
    of the ladder gets there. With `strict` an upstream holds the model to the schema, and
    refuses one that leaves anything open: then only descriptions are taken away.
    """
    strict = strict or profile == "openai_strict"
    if is_deep(schema, _DEEPEST):
        return schema if strict else bare(schema)
    if most_bytes is not None:
        schema = clipped(schema, most_bytes // _DESCRIPTIONS)
    prepare = PROFILES[profile]
    text = encode(schema)
    if b'"$ref"' in text:
        schema = resolved(schema, _GROWTH * len(text))
    schema = prepare(schema)
    if most_bytes is None:
        return schema
    for rung in RUNGS[:ONLY_WORDS] if strict else RUNGS:
        if len(encode(schema)) <= most_bytes:
            break
        schema = prepare(rung(schema))
    return schema


def budgeted(tool: Tool, budget: SchemaBudget, profile: Profile) -> Tool:
    """The tool as it is shown to the model: its declaration and its description. All else in
    the declaration keeps its bytes, and so does a schema that needs no change."""
    if (budget == "off" and profile == "none") or tool.type not in ("function", "custom"):
        return tool
    try:
        entry = Body(tool.raw)
        inner = Body(entry.get(tool.type) or b"{}")
        members = _members(tool, inner, budget_bytes(budget), profile)
    except ValueError:
        # A name that stands twice, and which one counts is the upstream's business; or a number
        # that cannot be written again.
        return tool
    if not members:
        return tool
    description = decode(members["description"]) if "description" in members else tool.description
    raw = entry.splice({tool.type: inner.splice(members)})
    return replace(tool, raw=raw, description=description)


def _surely_fits(declared: bytes, most: int | None, profile: Profile) -> bool:
    """Whether bytes alone show that nothing changes: most schemas are small."""
    small = most is not None and len(declared) <= most // _DESCRIPTIONS
    return small and profile == "none" and b"$ref" not in declared and b"\\u" not in declared


def _members(tool: Tool, inner: Body, most: int | None, profile: Profile) -> dict[str, bytes]:
    """The members of the declaration that change."""
    members: dict[str, bytes] = {}
    if most is not None and tool.description:
        description = clip(tool.description, most // _DESCRIPTIONS)
        if description != tool.description:
            members["description"] = encode(description)
    declared = inner.get("parameters")
    if declared is not None and tool.parameters and not _surely_fits(declared, most, profile):
        strict = inner.value("strict") is True
        schema = compact(tool.parameters, most, profile, strict=strict)
        text = encode(schema)
        if schema != tool.parameters or (most is not None and len(text) <= most < len(declared)):
            decode(text)
            members["parameters"] = text
    return members
