"""Who is direct, deferred or hidden: the first rule that matches decides."""

import re
from fnmatch import fnmatchcase, translate
from typing import NamedTuple

from app.core.policy import Exposure, Policy
from app.core.tools import Tool

BRIDGE_NAME = "tool_search"
WRAPPER_NAME = "call_tool"

_FAMILY = "family:"
_NEVER_DEFERRED = (
    # A model does not search for a way to ask or to finish that it does not know of.
    *("ask_*", "*ask_user*", "*askuser*", "*clarif*", "request_user_input", "*human_input*"),
    *("final_result*", "final_answer", "finalanswer", "transfer_to_*", "handoff_*", "hand_off_*"),
    # The primitives of coding agents, used in nearly every turn.
    *("read", "write", "edit", "multiedit", "shell", "bash", "grep", "glob", "todo*", "think"),
    *("reply", "read_file", "write_file", "edit_file", "run_shell", "exit", "submit"),
    # The client's own, where our tools have to take another name.
    *(BRIDGE_NAME, "toolsearch", WRAPPER_NAME),
)


_CORE = re.compile("|".join(map(translate, _NEVER_DEFERRED)))


def is_core(name: str) -> bool:
    """Whether a tool of this name is one that should never be deferred."""
    return _CORE.match(name.lower()) is not None


class Ruling(NamedTuple):
    """An exposure and the rule that decided it."""

    exposure: Exposure
    rule: str


def rule(policy: Policy, tool: Tool, family: str | None) -> Ruling:
    """Who may see and call this tool."""
    if tool.is_hosted_search:
        return Ruling("hidden", "the provider's own search, which the bridge replaces")
    if policy.within is not None:
        ruling = rule(policy.within, tool, family)
        if ruling.exposure == "hidden":
            return ruling
    ruling = _wanted(policy, tool, family)
    if ruling.exposure != "deferred":
        return ruling
    if policy.mode == "off":
        return Ruling("direct", "mode off: nothing is deferred")
    if not _can_defer(policy, tool):
        return Ruling("direct", f"a `{tool.type}` tool cannot be deferred")
    if (why := unsearchable(policy)) is not None:
        return Ruling("direct", f"nothing is deferred: {why}")
    return ruling


def unsearchable(policy: Policy) -> str | None:
    """Why the policy does not admit the tools that we add; None where it does.

    A name in `direct` or `deferred` never admits them: a tool of the client's may have that
    name, and would come in with it.
    """
    for name in (BRIDGE_NAME, WRAPPER_NAME) if policy.strategy == "wrap" else (BRIDGE_NAME,):
        for pattern in policy.hidden:
            if fnmatchcase(name, pattern):
                return f"`{pattern}` hides `{name}`"
    if policy.default_exposure == "hidden" and not policy.admit_bridge:
        return "`default_exposure: hidden` without `admit_bridge`"
    return None


def _wanted(policy: Policy, tool: Tool, family: str | None) -> Ruling:
    lists: tuple[tuple[Exposure, tuple[str, ...]], ...] = (
        ("hidden", policy.hidden),
        ("direct", policy.direct),
        ("deferred", policy.deferred),
    )
    for exposure, patterns in lists:
        for pattern in patterns:
            if _matches(pattern, tool, family):
                return Ruling(exposure, f"policy: {exposure} `{pattern}`")
    if policy.default_exposure == "hidden":
        return Ruling("hidden", "policy: default_exposure hidden")
    if not _can_defer(policy, tool):
        return Ruling("direct", f"a `{tool.type}` tool cannot be deferred")
    if tool.mark is not None:
        mark = str(tool.mark).lower()
        return Ruling("deferred" if tool.mark else "direct", f"client: defer_loading {mark}")
    for pattern in _NEVER_DEFERRED:
        if fnmatchcase(tool.name.lower(), pattern):
            return Ruling("direct", f"built-in: never deferred `{pattern}`")
    if policy.default_exposure == "direct":
        return Ruling("direct", "policy: default_exposure direct")
    return Ruling("deferred", "default")


def _can_defer(policy: Policy, tool: Tool) -> bool:
    """The wrapper's arguments are an object, which a custom tool's input is not."""
    return tool.type == "function" or (tool.type == "custom" and policy.strategy == "promote")


def _matches(pattern: str, tool: Tool, family: str | None) -> bool:
    """Tools that have no name go by their type. A tool in a namespace is of two families."""
    if pattern.startswith(_FAMILY):
        families = filter(None, (family, tool.namespace))
        return any(fnmatchcase(one, pattern.removeprefix(_FAMILY)) for one in families)
    return fnmatchcase(tool.name or tool.type, pattern)
