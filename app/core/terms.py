"""On what terms the model meets the tools of one request: who may be known, and what the
tools that we add are called."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.choice import Choice
from app.core.exposure import BRIDGE_NAME, WRAPPER_NAME
from app.core.policy import Strategy
from app.core.shape import Shape, free_name
from app.core.tools import Tool
from app.core.traits import DEFAULT, Traits


@dataclass(frozen=True, slots=True)
class Terms:
    """A shape under the request's `tool_choice`."""

    shape: Shape
    choice: Choice
    strategy: Strategy
    bridge: str
    """The name of the search tool."""
    wrapper: str
    """The name of the tool that calls others, "" with strategy `promote`."""
    traits: Traits = DEFAULT
    """What the upstream takes."""
    barred: frozenset[str] = frozenset()
    """Tools whose declaration it has refused in this turn."""

    @property
    def wraps(self) -> bool:
        """Whether found tools are called through the wrapper."""
        return self.strategy == "wrap"

    @property
    def marks(self) -> bool:
        """Whether all tools are sent, and the upstream keeps the marked ones from the model."""
        return self.strategy == "native" and self.traits.defers

    @property
    def refers(self) -> bool:
        """Whether a result loads the tools that it refers to."""
        return self.marks and self.traits.references

    def declarable(self, name: str) -> bool:
        """Whether the upstream takes a declaration of this tool."""
        return self.wraps or (name not in self.barred and self.traits.takes(name))

    def admits(self, name: str) -> Tool | None:
        """The deferred tool of this name, if a search may return it and a call name it."""
        if self.choice.kind == "allowed" and name not in self.choice.names:
            return None
        return self.shape.deferred.get(name)

    def is_direct(self, name: str) -> bool:
        """Whether this is a tool that is always declared."""
        return self.shape.names.get(name) == "direct"

    def is_visible(self, name: str) -> bool:
        """Whether the client sends a tool of this name that the policy does not hide."""
        return self.shape.names.get(name, "hidden") != "hidden"

    def knows(self, name: str) -> bool:
        """Whether the model may be told of a tool of this name."""
        return self.is_direct(name) or self.admits(name) is not None

    def is_hidden(self, name: str) -> bool:
        """Whether this is a hidden tool's name, or another spelling of one: a client may be
        as lenient with names as we are."""
        names = self.shape.names
        return self.shape.hides and (
            names.get(name) == "hidden"
            or self.shape.catalog.may_mean(name, lambda one: names.get(one) == "hidden")
        )

    def reaches(self, name: str) -> Tool | None:
        """The deferred tool that a name is, or can only mean."""
        return self.admits(name) or self.meant(name)

    def meant(self, name: str) -> Tool | None:
        """The deferred tool that a wrong name can only mean."""
        meant = self.shape.catalog.meant(name, self.knows)
        return meant if meant and meant.name in self.shape.deferred else None


def our_names(shape: Shape, called: Sequence[str], traits: Traits) -> tuple[str, str]:
    """What the tools that we add are called. A name that the history calls is another tool's,
    and some upstreams refuse a name."""
    ours = (shape.bridge_name, shape.wrapper_name)
    usual = (traits.bridge, traits.wrapper) == (BRIDGE_NAME, WRAPPER_NAME)
    if usual and set(ours).isdisjoint(called):
        return ours
    taken = {*shape.names, *called}
    wrapper = free_name(taken, traits.wrapper) if shape.wrapper_name else ""
    return free_name(taken, traits.bridge), wrapper
