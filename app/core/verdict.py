"""What is to be done about a call that the model got wrong, and what a round cost."""

import re
from collections.abc import Container, Iterable, Mapping
from typing import Literal, NamedTuple

from app.core.address import Addressee
from app.core.answer import Answer, To
from app.core.calls import Call
from app.core.codec import decode
from app.core.errors import Refused
from app.core.exchange import Exchange, shown
from app.core.fold import Fold
from app.core.round import Round
from app.core.schema.valid import fault
from app.core.terms import Terms
from app.core.tools import Tool

Via = Literal["search", "manifest", "history"]
"""How the model came to know a deferred tool that it calls."""

_WORD = re.compile(r"[\w.-]+")
_MOST_READ = 65_536
"""Characters of an error text that are looked at."""


def to_be_shown(call: Call, whom: Addressee, terms: Terms) -> Tool | None:
    """The deferred tool that the model must see in full before its call can be right."""
    name, arguments = call.target
    if whom == "blind" and (tool := terms.admits(name)):
        return tool if fault(tool.parameters, arguments) else None
    return terms.meant(name) if whom == "alias" else None


def refuse(call: Call, whom: Addressee, terms: Terms) -> Answer:
    """The answer to a call that nobody can run."""
    name, _ = call.target
    to: To = "wrapper" if call.inner is not None else "tool"
    if whom == "unwrapped":
        return Answer("unwrapped", to="wrapper")
    if whom == "direct":
        return Answer("direct", to="wrapper", name=name)
    close = terms.shape.catalog.close(name, terms.knows)
    return Answer("unknown", to=to, name=name, names=tuple(close))


def undeclared(refusal: Refused, terms: Terms, promoted: Container[str]) -> list[Tool]:
    """The deferred tools that a refusal names: some servers refuse their own model's call of
    a tool that was not declared (Groq's `tool_use_failed`)."""
    if not 400 <= refusal.status < 500:
        return []
    words = dict.fromkeys(_WORD.findall(_error_text(refusal.body)[:_MOST_READ]))
    found = (terms.admits(word.strip(".")) for word in words)
    return [tool for tool in found if tool and tool.name not in promoted]


def shown_instead(round: Round, names: list[str], seed: bytes) -> Exchange:
    """A search for these tools in place of a round, with its reasoning and the signature of its
    first call: where they are required, every call has to have them."""
    first = round.calls.all[0].extra if round.calls.all else {}
    return shown(names, seed, {**round.said, "content": ""}, first)


class Discovery(NamedTuple):
    """A call of a deferred tool that the client got."""

    name: str
    via: Via
    """How the model came to know the tool."""
    ranks: Mapping[str, int]
    """For each ranker that was asked the place it gave the tool when it was found, 0 for
    none. Empty where no search found it, and once an earlier request has called it."""


def discoveries(fold: Fold, left: Iterable[Call], exchanges: Iterable[Exchange]) -> list[Discovery]:
    """The calls of deferred tools that the client got, and how each tool became known."""
    found = {**fold.found, **{n: ranks for one in exchanges for n, ranks in one.found.items()}}
    names = [name for call in left if (name := call.target[0]) in fold.terms.shape.deferred]
    return [
        Discovery(n, "search", {} if n in fold.called else found[n])
        if n in found
        else Discovery(n, "history" if n in fold.called else "manifest", {})
        for n in names
    ]


def tokens_of_words(round: Round) -> int:
    """Completion tokens of what a hidden round said to the client. Searches are our expense,
    not the client's; where the upstream reports no usage, four characters are a token."""
    if not round.text:
        return 0
    reported = (round.usage or {}).get("completion_tokens")
    return reported if isinstance(reported, int) else len(round.text) // 4


def _error_text(body: bytes) -> str:
    try:
        error = decode(body)["error"]
    except (ValueError, KeyError, TypeError):
        return ""
    if not isinstance(error, dict):
        return ""
    return f"{error.get('message')} {error.get('failed_generation')}"
