"""What the model reads of the tools: the protocol and one entry for each tool.

The protocol comes first and the tools behind it, so that a tool that is promoted moves
nothing before it. Descriptions are hostile text: they cannot look like a tag, nor like
another tool.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from app.core import wording
from app.core.body import Body
from app.core.choice import Choice
from app.core.codec import Json, decode, encode
from app.core.dialect import pformat
from app.core.dialect.said import INPUT, properties
from app.core.dialect.tags import quoted, quoted_json
from app.core.manifest import clean
from app.core.policy import Dialect
from app.core.shape import DECLARED, Script
from app.core.tools import Tool

Spoken = Literal["json_tag", "pformat"]
"""The dialects that are text."""

_DEEPEST = 3
_LINES = re.compile(r"[\r\n]+")
_CUSTOM: Json = {"type": "object", "properties": {INPUT: {"type": "string"}}, "required": [INPUT]}


def block(
    dialect: Spoken, tools: Sequence[Tool], choice: Choice, *, parallel: bool, shape: object
) -> str:
    """All that the model has to know. `shape`: the client's `response_format`, where an
    answer has one."""
    protocol = {"json_tag": wording.PROTOCOL_JSON_TAG, "pformat": wording.PROTOCOL_PFORMAT}
    entry = _as_json if dialect == "json_tag" else _as_signature
    pieces = [protocol[dialect]]
    pieces += [] if parallel else [wording.ONE_CALL]
    pieces += [_answer(shape)] if shape is not None else []
    pieces += ["<tools>\n" + "\n".join(map(entry, tools)) + "\n</tools>"]
    pieces += [demanded(choice) or wording.REMINDER]
    return "\n\n".join(pieces)


def script(dialect: Dialect) -> Script:
    """How tools are written in a dialect, and what the protocol says around them."""
    if dialect == "native":
        return DECLARED
    entry = _as_json if dialect == "json_tag" else _as_signature

    def write(tool: Tool) -> str:
        return entry(tool) if tool.type in ("function", "custom") else ""

    return Script(write, block(dialect, (), Choice(), parallel=True, shape=None))


def demanded(choice: Choice) -> str:
    """What the client's `tool_choice` asks for, in words."""
    names = ", ".join(f"`{name}`" for name in choice.names)
    said = []
    if choice.kind == "named":
        said.append(wording.CALL_NAMED.format(name=names))
    elif choice.kind == "allowed":
        said.append(wording.CALL_ALLOWED.format(names=names))
    if choice.required and choice.kind != "named":
        said.append(wording.CALL_REQUIRED)
    return " ".join(said)


def _answer(shape: object) -> str:
    holder = shape.get("json_schema") if isinstance(shape, dict) else None
    schema = holder.get("schema") if isinstance(holder, dict) else None
    if not isinstance(schema, dict):
        return wording.ANSWER_JSON
    return wording.ANSWER_SCHEMA.format(schema=quoted_json(encode(schema).decode()))


def _as_json(tool: Tool) -> str:
    """The whole declaration on one line."""
    if tool.type == "custom":
        function = {"name": tool.name, "description": tool.description, "parameters": _CUSTOM}
        return quoted_json(encode(function).decode())
    raw = Body(tool.raw).get("function")
    assert raw is not None, "a function tool has one"
    body = Body(raw)
    raw = body.without("strict") if "strict" in body else raw
    one_line = encode(decode(raw)) if b"\n" in raw or b"\r" in raw else raw
    return quoted_json(one_line.decode())


def _as_signature(tool: Tool) -> str:
    """`name[a: string|b?: integer]: purpose`, then a line for each argument that is described;
    in braces where an argument has no position."""
    schemas = properties(tool)
    if pformat.is_flat(tool):
        members = [_member(name, schemas[name], tool) for name in pformat.order(tool)]
        head = f"{clean(tool.name)}[{'|'.join(members)}]"
    else:
        members = [_member(name, schema, tool) for name, schema in schemas.items()]
        head = f"{clean(tool.name)}{{{', '.join(members)}}}"
    lines = _lines(f"{head}: {tool.description}" if tool.description else head, "    ")
    for name, schema in schemas.items():
        if isinstance(said := schema.get("description"), str) and said:
            lines.append("    " + "\n".join(_lines(f"{name}: {said}", "        ")))
    return quoted("\n".join(lines))


def _member(name: str, schema: Json, tool: Tool) -> str:
    stated = tool.parameters.get("required")
    required = tool.type == "custom" or (isinstance(stated, list) and name in stated)
    return f"{clean(name)}{'' if required else '?'}: {compact(schema, tool.parameters)}"


def compact(schema: object, root: Json, depth: int = 0) -> str:
    """A schema in a few characters: `string`, `integer[]`, `{path: string, limit?: integer}`."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return "any"
    if isinstance(reference := schema.get("$ref"), str):
        return compact(_resolved(reference, root), root, depth + 1)
    if isinstance(values := schema.get("enum"), list) and values:
        return " or ".join(encode(value).decode() for value in values)
    for key in ("anyOf", "oneOf"):
        if isinstance(options := schema.get(key), list) and options:
            return _joined(compact(one, root, depth + 1) for one in options)
    kind = schema.get("type")
    if isinstance(kind, list):
        return _joined(compact({**schema, "type": one}, root, depth + 1) for one in kind)
    if kind == "array":
        inner = compact(schema.get("items"), root, depth + 1)
        return f"({inner})[]" if " or " in inner else f"{inner}[]"
    if isinstance(members := schema.get("properties"), dict):
        required = schema.get("required")
        known = required if isinstance(required, list) else []
        said = (
            f"{clean(name)}{'' if name in known else '?'}: {compact(one, root, depth + 1)}"
            for name, one in members.items()
        )
        return f"{{{', '.join(said)}}}"
    return clean(kind) if isinstance(kind, str) else "any"


def _joined(options: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(options))


def _resolved(reference: str, root: Json) -> object:
    at: object = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        at = at.get(step) if isinstance(at, dict) else None
    return at


def _lines(text: str, indent: str) -> list[str]:
    """A text whose further lines are indented, so that none looks like another tool."""
    first, *more = (clean(line) for line in _LINES.split(text.strip()))
    return [first, *(indent + line for line in more if line)]
