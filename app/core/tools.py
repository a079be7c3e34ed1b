"""One entry of the request's `tools`."""

from dataclasses import dataclass, field
from typing import Any

from app.core.body import Body, Malformed
from app.core.codec import Json, decode
from app.core.errors import BadRequest

_HOSTED_SEARCH = ("tool_search", "tool_search_tool_", "openrouter:tool_search")
"""Types of the search tools that OpenAI, Anthropic and OpenRouter host."""
_MARK = "defer_loading"
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


def parse(raw: bytes, position: int) -> Tool:
    """Read the entry at this position. Raises BadRequest: it is not a tool that has a name."""
    where = f"tools[{position}]"
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
