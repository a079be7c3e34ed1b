r"""The dialect `pformat`: `<tool_call>name[a|b]</tool_call>`.

Arguments stand in the alphabetical order of their names. An empty one is left out, or is the
empty text where the tool requires a text. `\|`, `\]` and `\\` are the only escapes. What
positions cannot say, such as lists and objects, is said as JSON.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from app.core.codec import Json, decode_object
from app.core.dialect import jsontag
from app.core.dialect.said import (
    Known,
    Said,
    call_of,
    object_of,
    properties,
    valued,
)
from app.core.dialect.tags import quoted
from app.core.tools import Tool

_NAMED = re.compile(r"\s*(?:call:\s*)?([\w./:-]{1,128})\s*\[")
_ANOTHER = re.compile(r"\]\s+(?:call:\s*)?([\w./:-]{1,128})\s*\[")
_ESCAPED = re.compile(r"\\([|\]\\])")
_PARTS = re.compile(r"((?:\\[|\]\\]|[^|])*)(?:\||\Z)", re.DOTALL)
_SCALAR = ("string", "integer", "number", "boolean")


def written(said: Said, tool: Tool | None) -> str:
    """A call as the model is to write it: the body of a tag."""
    positional = _positional(said, tool) if tool else None
    return jsontag.written(said) if positional is None else positional


def read(body: str, known: Known) -> list[Said] | None:
    """The calls of a tag's body, None where it cannot be read as known tools' calls alone."""
    calls = [_read(one, known) for one in _split(body.strip(), known)]
    if calls and all(calls):
        return [said for said in calls if said]
    return jsontag.read(body, known)


def order(tool: Tool) -> list[str]:
    """The arguments of a tool in the order of their positions."""
    return sorted(properties(tool))


def is_flat(tool: Tool) -> bool:
    """Whether every argument can stand at a position."""
    return all(_kind(schema) in _SCALAR for schema in properties(tool).values())


def _kind(schema: Json) -> object:
    kind = schema.get("type")
    if isinstance(kind, list):
        kinds = [one for one in kind if one != "null"]
        return kinds[0] if len(kinds) == 1 else None
    return kind


def _required(tool: Tool) -> list[object]:
    stated = tool.parameters.get("required")
    return ["input"] if tool.type == "custom" else stated if isinstance(stated, list) else []


def _split(body: str, known: Known) -> Iterator[str]:
    """The calls of a body: one behind another begins with a known name."""
    start = 0
    for match in _ANOTHER.finditer(body):
        if known(match[1]) and not _is_escaped(body, match.start()):
            yield body[start : match.start() + 1]
            start = match.start() + 1
    if body[start:].strip():
        yield body[start:].strip()


def _is_escaped(text: str, at: int) -> bool:
    before = text[:at]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _read(body: str, known: Known) -> Said | None:
    named = _NAMED.match(body)
    if named is None or not body.endswith("]") or _is_escaped(body, len(body) - 1):
        return None
    tool = known(named[1])
    if tool is None:
        return None
    names, required, schemas = order(tool), _required(tool), properties(tool)
    parts = _parts(body[named.end() : -1])
    if any(parts[len(names) :]):
        return None
    given: dict[str, str] = {}
    for name, part in zip(names, parts, strict=False):
        is_text = name in required and _kind(schemas[name]) == "string"
        if part or is_text:
            given[name] = valued(part, schemas[name])
    return call_of(named[1], object_of(given), known)


def _parts(inner: str) -> list[str]:
    """The arguments, unescaped; none for an empty text."""
    if not inner:
        return []
    parts, at = [], 0
    while True:
        match = _PARTS.match(inner, at)
        assert match is not None, "the pattern matches anything"
        parts.append(_ESCAPED.sub(r"\1", match[1]))
        if match.end() == match.end(1):
            return parts
        at = match.end()


def _positional(said: Said, tool: Tool) -> str | None:
    """A call by positions, None where reading that would not give back the same call."""
    if said.kind == "custom":
        given: Json | None = {"input": said.arguments}
    else:
        given = decode_object(said.arguments.encode("utf-8", "surrogatepass") or b"{}")
    if given is None or given.keys() - properties(tool).keys():
        return None
    texts = ["" if name not in given else _text(given[name]) for name in order(tool)]
    if None in texts or not given:
        return None if given else f"{said.name}[]"
    while texts and not texts[-1]:
        texts.pop()
    body = f"{said.name}[{'|'.join(map(_escaped, texts))}]"
    back = read(body, {said.name: tool}.get) or []
    same = len(back) == 1 and _same(back[0], said)
    return body if same and quoted(body) == body else None


def _same(back: Said, said: Said) -> bool:
    if said.kind == "custom":
        return back == said
    one, other = (
        decode_object(each.arguments.encode("utf-8", "surrogatepass") or b"{}")
        for each in (back, said)
    )
    return _exact(one) == _exact(other)


def _exact(value: object) -> object:
    """A value under which 1, 1.0 and true differ."""
    return {k: (type(v), str(v)) for k, v in value.items()} if isinstance(value, dict) else value


def _text(value: object) -> str | None:
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case int() | Decimal():
            return str(value)
        case _:
            return None


def _escaped(text: str | None) -> str:
    return re.sub(r"[|\]\\]", r"\\\g<0>", text or "")
