"""What is written about policies, made from their fields: the JSON Schema and the docs."""

from typing import Any

from app.core.policy import FIELDS, Field, Narrows
from app.policies.document import NAME
from app.policies.reader import SECTIONS, TENANT, VERSION

_NARROWS: dict[Narrows, str] = {
    "never": "",
    "free": "any of the words",
    "back": "a word further to the left",
    "down": "a smaller number",
    "adds": "adds to the list; no header brings back what the policy hides",
}


def schema() -> dict[str, Any]:
    """The JSON Schema of the policy file."""
    name = {"type": "string", "pattern": f"^{NAME.pattern}$"}
    settings = {
        "extends": {**name, "description": "A policy whose settings hold where this has none."}
    }
    settings |= {field.name: _schema(field) for field in FIELDS.values()}
    digest = {"type": "string", "pattern": "^[0-9a-fA-F]{64}$"}
    keys = {"type": "array", "items": digest, "description": "SHA-256 of the tenant's API keys."}
    members = (
        {"const": VERSION, "description": "The version of this format."},
        _named({"type": "object", "additionalProperties": False, "properties": settings}),
        _object({"policy": {**name, "description": "The policy of who has no other."}}),
        _named(
            _object(dict(zip(TENANT, (keys, {**name, "description": "Its policy."}), strict=True)))
        ),
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Toolfold policy file",
        **_object(dict(zip(SECTIONS, members, strict=True))),
        "required": [SECTIONS[0]],
    }


def table() -> str:
    """Every field of a policy, as a table in Markdown."""
    head = ("field", "values", "default", "meaning", "header", "a request may ask for")
    rows = [head, ("---",) * len(head), *(_row(field) for field in FIELDS.values())]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(field: Field) -> tuple[str, ...]:
    narrows = field.knob.narrows
    header = f"`{field.header}`" if narrows != "never" else ""
    default = _written(field.default)
    values = ", ".join(f"`{word}`" for word in field.words) or field.wanted.partition(",")[0]
    says = field.knob.says.replace("|", "\\|")
    return (f"`{field.name}`", values, f"`{default}`", says, header, _NARROWS[narrows])


def _written(default: object) -> str:
    if isinstance(default, tuple):
        return f"[{', '.join(default)}]"
    return str(default).lower() if isinstance(default, bool) else str(default)


def _schema(field: Field) -> dict[str, Any]:
    default = list(field.default) if field.kind == "list" else field.default
    said = {"description": field.knob.says, "default": default}
    bounds = {"minimum": field.knob.least, "maximum": field.knob.most}
    match field.kind:
        case "word":
            return {"enum": list(field.words), **said}
        case "list":
            return {"type": "array", "items": {"type": "string", "minLength": 1}, **said}
        case "switch":
            return {"type": "boolean", **said}
        case kind:
            return {"type": kind, **{k: v for k, v in bounds.items() if v is not None}, **said}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _named(each: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "patternProperties": {f"^{NAME.pattern}$": each},
    }
