"""One entry of the request's `tools`."""

import re
from dataclasses import dataclass, field, replace
from typing import Any

from app.core.body import Body, Malformed
from app.core.codec import Json, decode, encode, repeats
from app.core.errors import BadRequest

_HOSTED_SEARCH = ("tool_search", "tool_search_tool_", "openrouter:tool_search")
"""Types of the search tools that OpenAI, Anthropic and OpenRouter host."""
NAMESPACE = "namespace"
"""The type of an entry that holds other tools."""
_MARK = "defer_loading"
_DEFERRED = re.compile(rb'"defer_loading"\s*:\s*true')
_READ = frozenset({"tools", "functions", "tool_choice", "type", "function", "custom", "name"})


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A tool: read where we decide on it, and otherwise the bytes that the client sent."""

    raw: bytes
    """Its declaration, without the client's marks, as it goes upstream."""
    type: str
    name: str
    """"" for tools that have none, such as `web_search`."""
    description: str = ""
    parameters: Json = field(default_factory=dict)
    """The JSON Schema of the arguments."""
    mark: bool | None = None
    """The client's own `defer_loading`."""
    namespace: str = ""
    """The name of the namespace that it came in."""

    @property
    def is_hosted_search(self) -> bool:
        """A search tool of the provider's: the bridge takes its place."""
        return self.type == _HOSTED_SEARCH[0] or self.type.startswith(_HOSTED_SEARCH[1:])

    @property
    def is_ambiguous(self) -> bool:
        """Whether parsers differ in the name that they read: some take the first of two equal
        members, and some take `Name` for `name`."""
        try:
            outer = Body(self.raw)
            inner = outer.get(self.type)
            names = outer.names() | (Body(inner).names() if inner else set())
        except Malformed:
            return True
        return any(map(is_disguised, names))


def is_disguised(name: str) -> bool:
    """Whether a member's name is another spelling of one that says what a tool is."""
    return name not in _READ and name.casefold() in _READ


def read(raw: bytes, position: int) -> list[Tool]:
    """The tools of the entry at this position: of a namespace its functions, where the client
    defers one of them (no chat upstream takes a namespace; one that is not about deferring
    stays as it is, and so does one that can be read in two ways). Raises BadRequest: it is not
    a tool that has a name."""
    where = f"tools[{position}]"
    if b"namespace" in raw and _DEFERRED.search(raw):
        group = decode(raw)
        if isinstance(group, dict) and _is_plain_namespace(group, raw):
            name = _of(group, "name", str, "")
            entries = (
                (_nested(entry), f"{where}.tools[{at}]") for at, entry in enumerate(group["tools"])
            )
            return [replace(_parse(entry, at), namespace=name) for entry, at in entries]
    return [_parse(raw, where)]


def parse(raw: bytes, position: int) -> Tool:
    """Read the entry at this position. Raises BadRequest: it is not a tool that has a name."""
    return _parse(raw, f"tools[{position}]")


def _parse(raw: bytes, where: str) -> Tool:
    entry = decode(raw)
    if not isinstance(entry, dict):
        raise BadRequest(f"`{where}` must be an object.", where, "invalid_type")
    kind = entry.get("type", "function")
    inner = entry.get(kind) if isinstance(kind, str) else None
    if kind not in ("function", "custom"):
        return Tool(raw, str(kind), _of(entry, "name", str, ""), mark=_mark(entry, {}))
    if not isinstance(inner, dict):
        raise BadRequest(
            f"`{where}.{kind}` must be an object with a `name`.",
            f"{where}.{kind}",
            "missing_required_parameter",
        )
    name = inner.get("name")
    if not isinstance(name, str) or not name:
        raise BadRequest(
            f"`{where}.{kind}.name` must be a string that is not empty.",
            f"{where}.{kind}.name",
            "missing_required_parameter",
        )
    return Tool(
        raw=_unmarked(raw, entry, kind),
        type=kind,
        name=name,
        description=_of(inner, "description", str, ""),
        parameters=_of(inner, "parameters", dict, {}),
        mark=_mark(entry, inner),
    )


def marked(tool: Tool) -> bytes:
    """Its declaration with the mark, for an upstream that keeps marked tools from the model."""
    return Body(tool.raw).splice({_MARK: b"true"})


def _is_plain_namespace(group: Json, raw: bytes) -> bool:
    """Whether all parsers read the same tools in it."""
    is_one = group.get("type") == NAMESPACE and isinstance(group.get("tools"), list)
    return is_one and not any(map(is_disguised, group)) and not repeats(raw)


def _nested(entry: object) -> bytes:
    """A function in the form of the chat endpoint; in a namespace it may have no `function`."""
    flat = isinstance(entry, dict) and entry.get("type", "function") == "function"
    if not isinstance(entry, dict) or not flat or "function" in entry:
        return encode(entry)
    inner = {key: value for key, value in entry.items() if key != "type"}
    return encode({"type": "function", "function": inner})


def _of(entry: Json, key: str, kind: type[Any], default: Any) -> Any:
    value = entry.get(key)
    return value if isinstance(value, kind) else default


def _mark(entry: Json, inner: Json) -> bool | None:
    for holder in (entry, inner):
        if isinstance(holder.get(_MARK), bool):
            return bool(holder[_MARK])
    return None


def _unmarked(raw: bytes, entry: Json, kind: str) -> bytes:
    """The declaration without `defer_loading`, which upstreams refuse."""
    if _MARK not in entry and _MARK not in entry[kind]:
        return raw
    body = Body(Body(raw).without(_MARK))
    inner = body.get(kind)
    assert inner is not None, "the caller has read it"
    return body.splice({kind: Body(inner).without(_MARK)})
