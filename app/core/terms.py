"""On what terms the model meets the tools of one request: who may be known, and what the
tools that we add are called."""

from dataclasses import dataclass

from app.core.choice import Choice
from app.core.policy import Strategy
from app.core.shape import Shape
from app.core.tools import Tool


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

    @property
    def wraps(self) -> bool:
        """Whether found tools are called through the wrapper."""
        return self.strategy == "wrap"

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
