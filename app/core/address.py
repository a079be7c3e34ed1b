"""Whom a call is for."""

from collections.abc import Container
from typing import Literal

from app.core.calls import Call
from app.core.terms import Terms
from app.core.wrap import unwrap

Addressee = Literal[
    "client", "search", "wrapped", "blind", "alias", "unknown", "hidden", "direct", "unwrapped"
]
"""The client, who declared the tool; us (`search`); or still open: a `wrapped` call that has
not been opened; a deferred tool called by its name (`blind`); a name that can only mean one
tool (`alias`); a name that means none; a tool that the policy hides; a direct tool called
through the wrapper; a wrapped call that cannot be read (`unwrapped`)."""


def addressee(call: Call, terms: Terms, promoted: Container[str]) -> Addressee:
    """Whom a call is for whose name is settled, where these deferred tools are declared."""
    if call.kind == "custom":
        is_ours = terms.admits(call.name) or terms.is_direct(call.name)
        return "client" if is_ours else _unknown(call.name, terms)
    if call.name == terms.bridge:
        return "search"
    if terms.wraps and call.name == terms.wrapper and call.inner is None:
        return "wrapped"
    name, _ = call.target
    if call.inner is not None:
        return "unwrapped" if not name else _inside(name, terms)
    if name in promoted or terms.is_direct(name):
        return "client"
    if terms.admits(name):
        return "blind"
    return "alias" if terms.meant(name) else _unknown(name, terms)


def relayed(call: Call, terms: Terms, promoted: Container[str]) -> Addressee:
    """Whom a call is for where the client's own request was sent: the client, whatever its name."""
    return "hidden" if terms.shape.names.get(call.name) == "hidden" else "client"


def open_wrapped(call: Call, terms: Terms) -> None:
    """Take the real call out of a wrapped one, under the name that it can only mean."""
    name, arguments = unwrap(call.arguments) or ("", "")
    if name and not terms.knows(name) and (meant := terms.meant(name)):
        name = meant.name
    call.inner = (name, arguments)


def _inside(name: str, terms: Terms) -> Addressee:
    if terms.admits(name):
        return "blind"
    return "direct" if terms.is_direct(name) else _unknown(name, terms)


def _unknown(name: str, terms: Terms) -> Addressee:
    return "hidden" if terms.is_hidden(name) else "unknown"
