"""What a request's headers may change of a policy: less of it, never more.

Values are read strictly: what cannot be read is the client's mistake (400), what asks for
more is refused (403). Neither is quietly put right, since the app would take it for done.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from app.core.errors import BadRequest, Denied
from app.core.policy import FIELDS, Field, Narrows, Policy
from app.core.schema.budget import SchemaBudget, budget_bytes, read_schema_budget

PREFIX = "x-toolfold-"
_MOST_PATTERNS = 64
_INTEGER = re.compile(r"[0-9]{1,9}")
_PATTERN = re.compile(r"[!-+\--~]{1,256}")
"""Visible, and no comma."""

HEADERS = {
    field.header.lower(): field for field in FIELDS.values() if field.knob.narrows != "never"
}
"""The headers that narrow, by their names in lower case."""

Given = tuple[tuple[str, str], ...]
"""Headers as name in lower case and value, in the order in which they came."""


def narrow(policy: Policy, given: Given) -> Policy:
    """The policy with these headers obeyed. Raises BadRequest and Denied."""
    values: dict[str, str] = {}
    for name, value in given:
        field = HEADERS.get(name)
        if field is None:
            raise BadRequest(_unknown(name), name, "unknown_header")
        if name in values and field.kind != "list":
            raise BadRequest(f"`{field.header}` is given twice: send it once.", field.header)
        values[name] = f"{values[name]},{value}" if name in values else value
    changes = {
        HEADERS[name].name: _OBEY[HEADERS[name].knob.narrows](
            HEADERS[name], value, getattr(policy, HEADERS[name].name)
        )
        for name, value in values.items()
    }
    return replace(policy, **changes, within=policy) if changes else policy


def _word(field: Field, text: str) -> str:
    if text not in field.words:
        raise _wrong(field, field.wanted)
    return text


def _earlier_word(field: Field, text: str, now: str) -> str:
    words = field.words
    if words.index(_word(field, text)) > words.index(now):
        at_most = " or ".join(words[: words.index(now) + 1])
        raise _too_much(field, f"`{text}` does more than the policy's `{now}`: ask for {at_most}")
    return text


def _smaller(field: Field, text: str, now: int) -> int:
    if not _INTEGER.fullmatch(text) or not field.admits(int(text)):
        raise _wrong(field, field.wanted)
    if int(text) > now:
        raise _too_much(
            field, f"{int(text)} is more than the policy's {now}: ask for {now} or less"
        )
    return int(text)


def _more_patterns(field: Field, text: str, now: tuple[str, ...]) -> tuple[str, ...]:
    """In front of the policy's own. A tool that the policy hides stays hidden all the same."""
    patterns = [part.strip() for part in text.split(",")]
    if len(patterns) > _MOST_PATTERNS or not all(map(_PATTERN.fullmatch, patterns)):
        wanted = "patterns with commas between them, such as `github__*,family:crm`"
        raise _wrong(field, f"1 to {_MOST_PATTERNS} {wanted}")
    return tuple(dict.fromkeys((*patterns, *now)))


def _less_budget(field: Field, text: str, now: SchemaBudget) -> SchemaBudget:
    try:
        budget = read_schema_budget(text)
    except ValueError:
        raise _wrong(field, field.wanted) from None
    most, asked = budget_bytes(now), budget_bytes(budget)
    if most is not None and (asked is None or asked > most):
        raise _too_much(field, f"`{text}` is more than the policy's {most}: ask for {most} or less")
    return budget


_OBEY: dict[Narrows, Callable[[Field, str, Any], Any]] = {
    "free": lambda field, text, _: _word(field, text),
    "back": _earlier_word,
    "down": _smaller,
    "less": _less_budget,
    "adds": _more_patterns,
}


def _wrong(field: Field, wanted: str) -> BadRequest:
    return BadRequest(f"`{field.header}` must be {wanted}.", field.header)


def _too_much(field: Field, why: str) -> Denied:
    return Denied(f"`{field.header}` may only narrow the policy: {why}.", field.header)


def _unknown(name: str) -> str:
    shown = name[:64].replace("`", "")
    stems = [one.removeprefix(PREFIX) for one in (*HEADERS, PREFIX + "tenant", PREFIX + "key")]
    near = get_close_matches(name.replace("_", "-").removeprefix(PREFIX), stems, 1)
    if near:
        return f"There is no header `{shown}`: did you mean `{(PREFIX + near[0]).title()}`?"
    names = ", ".join((PREFIX + stem).title() for stem in stems)
    return f"There is no header `{shown}`. There are {names}."
