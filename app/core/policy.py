"""A policy: everything that can be set, and who is direct, deferred or hidden."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from app.core.tools import Tool

Mode = Literal["auto", "on", "off"]
Strategy = Literal["promote", "wrap", "native"]
Place = Literal["auto", "system"]
Exposure = Literal["direct", "deferred", "hidden"]

MOST_HITS = 20
"""The largest `limit` of a search."""

_FAMILY = "family:"
_NEVER_DEFERRED = (
    # A model does not search for a way to ask or to finish that it does not know of.
    *("ask_*", "*ask_user*", "*askuser*", "*clarif*", "request_user_input", "*human_input*"),
    *("final_result*", "final_answer", "finalanswer", "transfer_to_*", "handoff_*", "hand_off_*"),
    # The primitives of coding agents, used in nearly every turn.
    *("read", "write", "edit", "multiedit", "shell", "bash", "grep", "glob", "todo*", "think"),
    *("reply", "read_file", "write_file", "edit_file", "run_shell", "exit", "submit"),
    # The client's own, where our tools have to take another name.
    *("tool_search", "toolsearch", "call_tool"),
)


class Ruling(NamedTuple):
    """An exposure and the rule that decided it."""

    exposure: Exposure
    rule: str


@dataclass(frozen=True, slots=True)
class Policy:
    """One value with every knob. DESIGN: the thresholds say when folding pays."""

    mode: Mode = "auto"
    """`auto` folds when it pays, `on` whenever a tool can be deferred, `off` never."""
    strategy: Strategy = "promote"
    """How a found tool becomes callable: `promote` appends its declaration to `tools`; with
    `wrap` it is called through `call_tool`, so that the declared array never changes; with
    `native` all tools are sent, marked for an upstream that keeps them from the model."""
    min_tokens: int = 2_000
    """`auto` folds when the tools to defer weigh at least this many tokens ..."""
    min_saving: float = 0.4
    """... and at least this share of the tool tokens is saved."""
    max_tools: int = 128
    """An upstream refuses more tools than this: folding then rescues the request."""
    direct: tuple[str, ...] = ()
    """Shell globs on names, or `family:NAME`: always declared."""
    deferred: tuple[str, ...] = ()
    """Not declared, found by search."""
    hidden: tuple[str, ...] = ()
    """Not declared, not found, not callable."""
    limit: int = 5
    """Hits a query, unless the model asks for another number (20 at most)."""
    max_searches: int = 5
    """Searches a turn."""
    manifest_tokens: int = 4_000
    """The manifest takes the fullest form that fits."""
    manifest_place: Place = "auto"
    """`auto`: in the bridge's declaration. `system`: at the end of the client's first
    system message, where it has one."""
    result_tokens: int = 4_000
    """What one search may add to the conversation, declarations included."""

    def rule(self, tool: Tool, family: str | None) -> Ruling:
        """Who may see and call this tool; the first rule that matches decides."""
        lists: tuple[tuple[Exposure, tuple[str, ...]], ...] = (
            ("hidden", self.hidden),
            ("direct", self.direct),
            ("deferred", self.deferred),
        )
        if tool.is_hosted_search:
            return Ruling("hidden", "the provider's own search, which the bridge replaces")
        for exposure, patterns in lists:
            for pattern in patterns:
                if _matches(pattern, tool.name, family):
                    return Ruling(self._possible(exposure, tool), f"policy: {exposure} `{pattern}`")
        if not self._can_defer(tool):
            return Ruling("direct", f"a `{tool.type}` tool cannot be deferred")
        if tool.mark is not None:
            mark = str(tool.mark).lower()
            return Ruling("deferred" if tool.mark else "direct", f"client: defer_loading {mark}")
        for pattern in _NEVER_DEFERRED:
            if fnmatchcase(tool.name.lower(), pattern):
                return Ruling("direct", f"built-in: never deferred `{pattern}`")
        return Ruling("deferred", "default")

    def _can_defer(self, tool: Tool) -> bool:
        """The wrapper's arguments are an object, which a custom tool's input is not."""
        return tool.type == "function" or (tool.type == "custom" and self.strategy == "promote")

    def _possible(self, exposure: Exposure, tool: Tool) -> Exposure:
        return "direct" if exposure == "deferred" and not self._can_defer(tool) else exposure


def _matches(pattern: str, name: str, family: str | None) -> bool:
    if pattern.startswith(_FAMILY):
        return family is not None and fnmatchcase(family, pattern.removeprefix(_FAMILY))
    return fnmatchcase(name, pattern)
