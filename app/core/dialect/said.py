"""One call, as text says it."""

import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import NamedTuple

import msgspec

from app.core.codec import Json, decode, encode
from app.core.tools import Tool

Known = Callable[[str], Tool | None]
"""The tool that a call may name."""


class Said(NamedTuple):
    """A call of a known tool."""

    name: str
    arguments: str
    """A JSON object, as the model wrote it; the plain input of a custom tool."""
    kind: str = "function"


INPUT = "input"
"""The one argument of a custom tool."""
_ARGUMENTS = ("arguments", "args", "parameters", "input")
_BESIDE = frozenset({"name", "id", "type", "index", *_ARGUMENTS})
_raw = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


_lenient = json.JSONDecoder(strict=False, parse_float=Decimal, parse_constant=_refuse)
_BETWEEN = re.compile(r"[\s,;]*")
_INVOKE = re.compile(
    r"<invoke\s+name\s*=\s*([^<>\n]+)>(.*?)</invoke>\s*", re.IGNORECASE | re.DOTALL
)
_PARAMETER = re.compile(
    r"<parameter\s+name\s*=\s*([^<>\n]+)>(.*?)</parameter>\s*", re.IGNORECASE | re.DOTALL
)


def call_of(name: str, arguments: str, known: Known) -> Said | None:
    """A call of these arguments, a JSON object or nothing; None where it cannot be one."""
    tool = known(name)
    if tool is None or not (arguments := arguments.strip() or "{}").startswith("{"):
        return None
    if tool.type != "custom":
        return Said(name, arguments)
    given = decode(arguments).get(INPUT)
    return Said(name, given, "custom") if isinstance(given, str) else None


def properties(tool: Tool) -> dict[str, Json]:
    """The arguments of a tool, each with its schema."""
    stated = tool.parameters.get("properties")
    if tool.type == "custom":
        return {INPUT: {"type": "string"}}
    if not isinstance(stated, dict):
        return {}
    return {name: value if isinstance(value, dict) else {} for name, value in stated.items()}


def values(text: str) -> list[str]:
    """The JSON objects of a text, one after another or in a list. Raises ValueError."""
    found: list[str] = []
    at = _skipped(text, 0)
    while at < len(text):
        value, end = _lenient.raw_decode(text, at)
        entries = value if isinstance(value, list) else [value]
        if not entries or not all(isinstance(entry, dict) for entry in entries):
            raise ValueError("not objects alone")
        is_list = isinstance(value, list)
        found += [encode(one).decode() for one in entries] if is_list else [text[at:end]]
        at = _skipped(text, end)
    return found


def one_object(text: str) -> str:
    """The one object of a text, as JSON that any parser takes. Raises ValueError."""
    found = values(text) or ["{}"]
    if len(found) > 1:
        raise ValueError("several objects")
    return object_of(_members(found[0])) if _raw_fails(found[0]) else found[0]


def read_object(text: str, known: Known) -> Said | None:
    """A call that an object says. Raises ValueError."""
    members = _members(text)
    if "name" not in members and "function" in members:
        inner = members["function"]
        if inner.startswith("{"):
            return read_object(inner, known)
        members = {"name": inner} | {k: v for k, v in members.items() if k != "function"}
    name = decode(members.get("name", "null"))
    key = next((key for key in _ARGUMENTS if key in members), None)
    if not isinstance(name, str) or (key is None and members.keys() - _BESIDE):
        return None
    given = members[key] if key else "{}"
    if given.startswith('"'):  # an object in a string; or what the model takes for one
        given = decode(given)
        if not _is_object(given) and (tool := known(name)) and tool.type == "function":
            return Said(name, given)
    return call_of(name, "{}" if given == "null" else given, known)


def invoked(text: str, known: Known) -> list[Said] | None:
    """Calls written as `<invoke name="...">` with parameters."""
    calls: list[Said] = []
    at = 0
    while at < len(text):
        invoke = _INVOKE.match(text, at)
        said = _invoked(invoke[1], invoke[2].strip(), known) if invoke else None
        if invoke is None or said is None:
            return None
        calls.append(said)
        at = invoke.end()
    return calls or None


def valued(text: str, schema: Mapping[str, object]) -> str:
    """A text as the JSON value that the schema wants, else as a JSON string."""
    wanted = schema.get("type")
    kinds = wanted if isinstance(wanted, list) else [wanted]
    if "string" not in kinds and (value := _typed(text.strip(), kinds)) is not None:
        return value
    return encode(text).decode()


_SCALARS = {
    "integer": re.compile(r"-?(?:0|[1-9]\d*)\Z", re.ASCII),
    "number": re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?\Z", re.ASCII),
    "boolean": re.compile("(?:true|false)\\Z", re.IGNORECASE),
}


def _typed(text: str, kinds: list[object]) -> str | None:
    for kind in kinds:
        if isinstance(kind, str) and kind in _SCALARS and _SCALARS[kind].match(text):
            return text.lower() if kind == "boolean" else text
    try:
        value = decode(text) if text[:1] in ("[", "{") else None
    except ValueError:
        return None
    fits = ("array" in kinds and isinstance(value, list)) or (
        "object" in kinds and isinstance(value, dict)
    )
    return text if fits else None


def _invoked(name: str, body: str, known: Known) -> Said | None:
    name = _unquoted(name)
    tool = known(name)
    if tool is None:
        return None
    if body.startswith("{"):
        return call_of(name, one_object(body), known)
    schemas = properties(tool)
    given: dict[str, str] = {}
    at = 0
    while at < len(body):
        parameter = _PARAMETER.match(body, at)
        if parameter is None:
            return None
        key = _unquoted(parameter[1])
        given[key] = valued(parameter[2].strip("\r\n"), schemas.get(key, {}))
        at = parameter.end()
    return call_of(name, object_of(given), known)


def object_of(members: Mapping[str, str]) -> str:
    """An object of members whose values are JSON texts."""
    return "{" + ", ".join(f"{encode(k).decode()}: {v}" for k, v in members.items()) + "}"


def _unquoted(name: str) -> str:
    return name.strip().strip("\"'")


def _skipped(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at


def _raw_fails(text: str) -> bool:
    try:
        _raw.decode(text)
    except (ValueError, RecursionError):
        return True
    return False


def _is_object(text: str) -> bool:
    try:
        return not text.strip() or isinstance(decode(text), dict)
    except ValueError:
        return False


def _members(text: str) -> dict[str, str]:
    """The members of an object as they are written; written anew where a model put a line
    end into a string."""
    try:
        return {name: bytes(raw).decode() for name, raw in _raw.decode(text).items()}
    except (ValueError, RecursionError):
        value = _lenient.decode(text)  # a line end inside a string
        if not isinstance(value, dict):
            raise ValueError("not an object") from None
        return {name: encode(one).decode() for name, one in value.items()}
