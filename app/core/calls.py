"""Tool calls, put together from the fragments of a stream.

Servers differ in how they number and name the pieces. All of this is seen in the wild:
no index, or index 0 for every call; `""` where a member should be absent; a name in
pieces, or repeated with every piece; arguments before the name; a whole call at once.
"""

from dataclasses import dataclass, field
from typing import Any

from app.core.chunks import joined, merge
from app.core.codec import Json, decode, encode, fused


@dataclass(slots=True, eq=False)
class Call:
    """One call, as far as it has arrived."""

    kind: str = "function"
    """The member that holds name and arguments: `function` or `custom`."""
    id: str = ""
    name: str = ""
    settled: bool = False
    """Nothing can be added to the name any more."""
    inner: tuple[str, str] | None = None
    """Name and arguments of the real call, where this one only wraps it."""
    _arguments: list[str] = field(default_factory=list)
    _rest: Json = field(default_factory=dict)
    """Members that are not ours to read, such as `extra_content`."""

    @property
    def arguments(self) -> str:
        """As the model wrote them; `input` of a custom tool."""
        return fused(self._arguments)

    @property
    def target(self) -> tuple[str, str]:
        """Name and arguments of the tool that is to run."""
        return self.inner or (self.name, self.arguments)

    @property
    def extra(self) -> Json:
        """The members besides id, type, name and arguments."""
        return joined({k: v for k, v in self._rest.items() if k not in (self.kind, "type")})

    def add(self, fragment: Json) -> None:
        """Take a fragment in."""
        inner = fragment.get(self.kind)
        inner = inner if isinstance(inner, dict) else {}
        self.id = self.id or _text(fragment.get("id"))
        name = _text(inner.get("name"))
        if name != self.name:  # a repeated name is not a second piece of it
            self.name += name
        self._arguments.append(_arguments(inner))
        rest = {k: v for k, v in fragment.items() if k not in ("id", "index", self.kind)}
        merge(self._rest, rest)
        self.settled = self.settled or bool(self.name and any(self._arguments))

    def is_complete(self) -> bool:
        """Whether the arguments are a whole JSON text."""
        try:
            decode(self.arguments)
        except ValueError:
            return False
        return True

    def as_real(self) -> Json:
        """The real call of a wrapped one, as the client gets it."""
        name, arguments = self.target
        function = {"name": name, "arguments": arguments}
        return {"id": self.id, "type": "function", "function": function, **self.extra}

    def as_message(self) -> Json:
        """The entry of an assistant message's `tool_calls` that goes back to the upstream.

        Servers parse the arguments of history and fail on what is not JSON, so a text that
        was cut off goes back as `{}`.
        """
        if self.kind == "custom":
            inner = {"name": self.name, "input": self.arguments}
        else:
            inner = {
                "name": self.name,
                "arguments": self.arguments if self.is_complete() else "{}",
            }
        return {"id": self.id, "type": self.kind, self.kind: inner, **self.extra}


class Calls:
    """The calls of one upstream reply, in the order in which they began."""

    def __init__(self) -> None:
        self.all: list[Call] = []
        self._latest: dict[Any, Call] = {}

    def add(self, fragment: Json) -> Call:
        """The call that this fragment belongs to, with the fragment added."""
        index = fragment.get("index")
        index = index if type(index) is int else None
        call = self._latest.get(index) if index is not None else self._last
        if call is None or _begins_another(call, fragment):
            call = self._begin(fragment)
        self._latest[index] = call
        call.add(fragment)
        return call

    def settle(self) -> None:
        """No more fragments come."""
        for call in self.all:
            call.settled = True

    @property
    def _last(self) -> Call | None:
        return self.all[-1] if self.all else None

    def _begin(self, fragment: Json) -> Call:
        self.settle()
        call = Call(kind="custom" if "custom" in fragment else "function")
        self.all.append(call)
        return call


def _begins_another(call: Call, fragment: Json) -> bool:
    """Whether a fragment with a used index is another call all the same."""
    if identifier := _text(fragment.get("id")):
        return bool(call.id) and identifier != call.id
    inner = fragment.get(call.kind)
    if not isinstance(inner, dict) or not (name := _text(inner.get("name"))):
        return False
    return (name != call.name or bool(_arguments(inner))) and call.is_complete()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _arguments(inner: Json) -> str:
    """Some servers send the arguments as an object."""
    value = inner.get("arguments", inner.get("input"))
    if value is None or isinstance(value, str):
        return value or ""
    return encode(value).decode()
