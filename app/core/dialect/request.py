"""One request, rendered: its tools in a block of the system message, its tool traffic as
text, and what has to be asked for in words instead of members."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from app.core import tools, wording
from app.core.body import Body, Malformed
from app.core.catalog import is_empty
from app.core.choice import Choice, read_choice
from app.core.codec import encode
from app.core.conversation import extended
from app.core.dialect import jsontag, pformat
from app.core.dialect.catalog import Spoken, block, demanded
from app.core.dialect.history import has_tool_traffic, instructed, rendered
from app.core.dialect.said import Known, Said
from app.core.errors import BadRequest
from app.core.tools import Tool

Demand = Literal["call", "json"]
"""What a reply has to hold: a call, or else an answer in JSON."""

_OURS = ("tools", "tool_choice", "parallel_tool_calls")
_SKELETONS = (
    *('<tool_call>{"name": "', '", "arguments": {"', '": "', '", "', '": {"', '"}}</tool_call>'),
    *('<tool_call> {"name":"', '","arguments":{"', '":"', '","', '":{"', '"}}\n</tool_call>'),
    *("|", "[", "]</tool_call>", "```tool_call"),
)
"""What stands in calls whatever they say."""
_entries = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True)
class Rendered:
    """A request without `tools`, and how its reply is to be read."""

    body: bytes
    dialect: Spoken
    known: Known | None
    """The tools that a call may name; None where the reply is not read."""
    stops: tuple[str, ...] = ()
    """The client's stop sequences that would have cut a call: they end the text instead."""
    most: int | None = None
    """Calls that the client takes; any number where there is none."""
    named: bool = False
    """The client chose one tool by its name."""
    demand: Demand | None = None
    demanded: str = ""
    """The same in words."""
    answer: bytes = b""
    """The request whose reply can only be an answer in the client's `response_format`."""

    def again(self, said: str) -> bytes:
        """The request once more, behind a reply that does not hold what it has to."""
        if self.demand == "json":
            return self.answer
        body = Body(self.body)
        missing = wording.CALL_MISSING.format(demand=self.demanded)
        turns = [{"role": "assistant", "content": said}] if said.strip() else []
        turns.append({"role": "user", "content": missing})
        return body.splice({"messages": extended(body.get("messages") or b"[]", turns)})


def is_spoken(raw: bytes) -> bool:
    """Whether a request holds what a model without tool calling cannot be sent."""
    try:
        body = Body(raw)
        return not is_empty(body.get("tools")) or has_tool_traffic(body.get("messages") or b"[]")
    except ValueError:
        return False


def render(request: bytes, dialect: Spoken, beyond: Known) -> Rendered:
    """The request as text. `beyond`: tools that may be called though it does not declare
    them. Raises Malformed, and BadRequest for what no upstream would take."""
    body = Body(request)
    declared = _declared(body)
    choice = read_choice(body.value("tool_choice"))
    if choice.kind == "named" and choice.names[0] not in declared:
        raise BadRequest(
            f"`tool_choice` names `{choice.names[0][:64]}`, which is not in `tools`. "
            "Declare it or name another tool.",
            "tool_choice",
        )

    def known_to_history(name: str) -> Tool | None:
        return declared.get(name) or beyond(name)

    def write(said: Said) -> str:
        if dialect == "pformat":
            return pformat.written(said, known_to_history(said.name))
        return jsontag.written(said)

    messages = rendered(body.get("messages") or b"[]", write)
    bare = Body(body.without(*_OURS))
    if not declared:
        return Rendered(bare.splice({"messages": messages}), dialect, None)
    known = _admitted(choice, declared, beyond)
    if choice.kind == "none":
        return Rendered(bare.splice({"messages": messages}), dialect, known, most=0)
    parallel = body.value("parallel_tool_calls") is not False
    shape = body.value("response_format")
    has_shape = isinstance(shape, dict) and shape.get("type") in ("json_object", "json_schema")
    text = block(
        dialect,
        list(declared.values()),
        choice,
        parallel=parallel,
        shape=shape if has_shape else None,
    )
    stops = _stops(body.value("stop"))
    kept = [stop for stop in stops if not _cuts(stop)]
    dropped = (["response_format"] if has_shape else []) + (["stop"] if stops != kept else [])
    members = {"messages": instructed(messages, text)}
    if kept and stops != kept:
        members["stop"] = encode(kept)
    single = body.value("n") in (None, 1)
    demand: Demand | None = "call" if choice.required else "json" if has_shape else None
    return Rendered(
        body=Body(bare.without(*dropped)).splice(members),
        dialect=dialect,
        known=known,
        stops=tuple(stop for stop in stops if stop not in kept),
        most=None if parallel else 1,
        named=choice.kind == "named",
        demand=demand if single else None,
        demanded=demanded(choice),
        answer=bare.splice({"messages": messages}),
    )


def overheard(request: bytes, beyond: Known) -> Rendered:
    """A request that stays as it is, to a model that calls tools and at times writes a call
    as text. Raises Malformed and BadRequest."""
    body = Body(request)
    declared = _declared(body)
    choice = read_choice(body.value("tool_choice"))
    reads = bool(declared) and choice.kind != "none"
    known = _admitted(choice, declared, beyond) if reads else None
    return Rendered(request, "json_tag", known, named=choice.kind == "named")


def _declared(body: Body) -> dict[str, Tool]:
    """The tools that text can speak of, by name: those of other types are the provider's to
    run. Raises Malformed, and BadRequest for a tool without a name or a name twice."""
    raw = body.get("tools") or b"[]"
    try:
        entries = [] if is_empty(raw) else _entries.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        raise Malformed("tools-malformed") from None
    declared: dict[str, Tool] = {}
    for at, entry in enumerate(entries):
        tool = tools.parse(bytes(entry), at)
        if tool.type not in ("function", "custom"):
            continue
        if tool.name in declared:
            where = f"tools[{at}].{tool.type}.name"
            raise BadRequest(
                f"Tool names must be unique: `{where}` declares `{tool.name[:64]}` again. "
                "Rename one of the two or leave it out.",
                where,
            )
        declared[tool.name] = tool
    return declared


def _admitted(choice: Choice, declared: Mapping[str, Tool], beyond: Known) -> Known:
    """The tools that a call may name under the client's `tool_choice`."""

    def known(name: str) -> Tool | None:
        if choice.kind in ("named", "allowed") and name in declared and name not in choice.names:
            return None
        tool = declared.get(name)
        return tool if tool or choice.kind == "named" else beyond(name)

    return known


def _stops(value: object) -> list[str]:
    given = [value] if isinstance(value, str) else value
    return [one for one in given if isinstance(one, str)] if isinstance(given, list) else []


def _cuts(stop: str) -> bool:
    """Whether a stop sequence can be met in the syntax of a call."""
    return not stop.strip() or any(stop in part or part in stop for part in _SKELETONS)
