"""Errors, split by whose fault they are. What the model does wrong is never an error.

ToolfoldError
├── BadRequest          the client: a 400 in OpenAI's shape that names the field
├── Denied              the client: a 401 or 403, not known or not allowed to
├── TurnedAway          nobody: more than our limits take, a 413 or 503 of ours
└── UpstreamFailed      a round did not come to its end
    ├── Refused         the upstream answered with an error status: passed on unchanged
    ├── Erred           the upstream put an error into a reply that began with 200
    └── Broken          no reply, half a reply, or not a reply: a 502 or 504 of ours
"""

from dataclasses import dataclass, field


class ToolfoldError(Exception):
    """The root of the tree."""


@dataclass
class BadRequest(ToolfoldError):
    """What is wrong with the client's request, in words that say what to change."""

    message: str
    param: str
    """The field, as OpenAI writes it: `tools[3].function.name`."""
    code: str = "invalid_value"


@dataclass
class Denied(ToolfoldError):
    """Who asks is not known, or may not have what it asks for."""

    message: str
    param: str | None = None
    """The header, where it is one."""
    code: str = "policy_denied"
    status: int = 403


@dataclass
class TurnedAway(ToolfoldError):
    """A request that our limits do not take."""

    status: int
    message: str
    code: str


class UpstreamFailed(ToolfoldError):
    """A round that did not come to its end."""


@dataclass
class Refused(UpstreamFailed):
    """An answer with a status of 400 or more."""

    status: int
    body: bytes
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)


@dataclass
class Erred(UpstreamFailed):
    """An `error` inside a reply whose status was 200."""

    body: bytes
    """The JSON text that holds the `error` member."""


@dataclass
class Broken(UpstreamFailed):
    """The upstream could not be reached, stopped in the middle or did not speak the protocol."""

    message: str
    code: str = "upstream_error"
    status: int = 502
    accepted: bool = True
    """Whether the upstream took it: it began to answer, or let the time run out. Sent again it
    would be paid for twice. A connection lost before is for the client to judge, as without us."""
