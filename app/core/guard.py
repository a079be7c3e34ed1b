"""What is refused where a policy hides tools.

A relay carries all that is in a request, and a reply that is passed on as it comes may call
anything. So under such a policy a request that cannot be read or rewritten has no way
through: promise 6 stands above promise 2.
"""

from collections.abc import Iterator

from app.core.body import Body
from app.core.choice import read_choice
from app.core.errors import BadRequest, Broken, ToolfoldError
from app.core.shape import Shape
from app.core.tools import NAMESPACE, is_disguised

_REFUSALS = {
    "not-json": ("The body must be a JSON object in UTF-8, not compressed.", "body"),
    "duplicate-keys": ("The body names a member twice: leave one of the two out.", "body"),
    "tools-malformed": ("`tools` must be a list of tools.", "tools"),
    "messages-malformed": ("`messages` must be a list of messages.", "messages"),
    "legacy-functions": ("`functions` are not taken here: send them as `tools`.", "functions"),
    "several-choices": ("`n` must be 1 with these tools: send several requests.", "n"),
    "other-spelling": (
        "The body names a member in two ways or in another spelling than `tools`, `functions`, "
        "`tool_choice`, `type`, `function`, `custom` or `name`: parsers differ in what they read.",
        "body",
    ),
    "namespace": (
        "A namespace in `tools` must be read in one way, with `defer_loading` in a function of it: "
        "send its functions as tools of their own.",
        "tools",
    ),
    "tool-choice": ("`tool_choice` must name a tool that can be called.", "tool_choice"),
}


def refusal(reason: str) -> ToolfoldError:
    """The error in the place of a relay for this reason."""
    if reason not in _REFUSALS:
        return Broken("The request could not be read for its hidden tools.", "internal_error", 500)
    message, field = _REFUSALS[reason]
    return BadRequest(message, field, reason.replace("-", "_"))


def check_members(body: Body) -> None:
    """Raises BadRequest: some parsers take `Tools` for `tools`, and would see what we do not."""
    if any(map(is_disguised, body.names())):
        raise refusal("other-spelling")


def guard(body: Body, shape: Shape) -> None:
    """Raises BadRequest: a request with tools that can be read in two ways, or in a namespace
    that goes upstream as it is, with whatever it holds; and where a tool
    is hidden, one for several replies, which are passed on unread, or for a call of it."""
    if shape.catalog.is_ambiguous:
        raise refusal("other-spelling")
    if any(tool.type == NAMESPACE for tool in shape.catalog.tools):
        raise refusal("namespace")
    if not shape.hides:
        return
    value = body.value("tool_choice")
    choice = read_choice(value)
    asked = choice.names if choice.kind in ("named", "allowed") else tuple(_texts(value))
    hidden = [shape.names.get(name) == "hidden" for name in asked]
    if choice.kind != "allowed" and any(hidden):
        raise refusal("tool-choice")
    if choice.required and hidden and all(hidden):
        raise refusal("tool-choice")
    if body.value("n") not in (None, 1):
        raise refusal("several-choices")


def _texts(value: object) -> Iterator[str]:
    """Every text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
