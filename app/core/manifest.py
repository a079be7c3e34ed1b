"""The listing of the deferred tools that the model reads: a ladder of forms, fullest first.

It depends on the catalog and the policy alone, so it is the same in every request of a
conversation and on every replica. Descriptions are hostile text: one line each, nothing
in it that is invisible or changes direction, and never more than its share.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from app.core import wording
from app.core.catalog import Count, Family
from app.core.tools import Tool

_LONGEST_SENTENCE = 60
_LONGEST_NAME = 128
_MOST_ARGUMENTS = 12
_EXAMPLES = 3
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s|\n")  # noqa: RUF001 (full-width marks are meant)
_UNSEEN = {"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"}
"""Unicode categories: control, format (zero width, bidirectional, tags), private, line ends."""


class Listed(NamedTuple):
    """A tool of the manifest."""

    tool: Tool
    family: Family | None


class Manifest(NamedTuple):
    """The text and the name of its rung."""

    text: str
    rung: str


def manifest(
    listed: Sequence[Listed], budget: int, count: Count, *, positional: bool = False
) -> Manifest:
    """The first rung whose text fits the budget, in tokens. `positional`: calls are written
    `name[a|b]`, and so are the signatures."""
    tools = sorted(listed, key=_place)
    for rung, lines in (
        ("signatures", _signatures(tools, positional)),
        ("sentences", _sentences(tools)),
        ("families", _families(tools)),
        ("examples", _examples(tools)),
    ):
        text = _text(lines, budget)
        if text is not None and count(text) <= budget:
            return Manifest(text, rung)
    return Manifest(wording.BARE.format(count=len(tools)), "count")


def signature(tool: Tool, *, positional: bool = False) -> str:
    """A tool's line of the first rung."""
    properties = tool.parameters.get("properties")
    names = list(properties) if isinstance(properties, dict) else []
    stated = tool.parameters.get("required")
    required = [name for name in names if isinstance(stated, list) and name in stated]
    optional = [f"{name}?" for name in names if name not in required]
    order = required + optional
    if positional:
        order = sorted(order, key=lambda name: name.removesuffix("?"))
    arguments = [clean(name)[:_LONGEST_NAME] for name in order]
    if len(arguments) > _MOST_ARGUMENTS:
        arguments[_MOST_ARGUMENTS:] = ["..."]
    form = f"[{'|'.join(arguments)}]" if positional else f"({', '.join(arguments)})"
    return _line(f"{_name(tool)}{form}", tool)


def sentence(text: str) -> str:
    """The first sentence of a description, 60 characters at most."""
    first = _SENTENCE_END.split(text.strip()[:2_000], maxsplit=1)[0]
    first = clean(first).rstrip(".")
    if len(first) <= _LONGEST_SENTENCE:
        return first
    return first[: _LONGEST_SENTENCE - 1].rstrip() + "…"


def clean(text: str) -> str:
    """One line of visible characters."""
    if text.isascii() and text.isprintable():
        return text
    seen = (" " if c in "\t\n\r" else c for c in text)
    return "".join(c for c in seen if unicodedata.category(c) not in _UNSEEN).strip()


def grouped(listed: Sequence[Listed]) -> Iterator[tuple[Family | None, list[Tool]]]:
    """The families in order, each with its tools."""
    for family, members in groupby(sorted(listed, key=_place), key=lambda one: one.family):
        yield family, [one.tool for one in members]


def _place(one: Listed) -> tuple[str, str, str]:
    family = one.family
    return (family.name if family else "~", family.prefix if family else "", one.tool.name)


def _text(lines: Iterator[str], budget: int) -> str | None:
    """The lines as one text, None as soon as it cannot fit: a token is a character at least
    for every sixteenth, so a huge catalog is not spelled out only to be dropped."""
    kept, length = [], 0
    for line in lines:
        kept.append(line)
        length += len(line) + 1
        if length > 16 * budget:
            return None
    return "\n".join(kept)


def _signatures(tools: Sequence[Listed], positional: bool) -> Iterator[str]:
    yield f"{wording.POSITIONS if positional else wording.SIGNATURES}:"
    yield from (f"- {signature(one.tool, positional=positional)}" for one in tools)


def _sentences(tools: Sequence[Listed]) -> Iterator[str]:
    yield f"{wording.SENTENCES}:"
    yield from (f"- {_line(_name(one.tool), one.tool)}" for one in tools)


def _families(tools: Sequence[Listed]) -> Iterator[str]:
    yield f"{wording.FAMILIES}:"
    for family, members in grouped(tools):
        prefix = family.prefix if family else ""
        words = (_name(tool).removeprefix(clean(prefix)) for tool in members)
        yield f"- {clean(prefix) or '(no prefix)'}: {', '.join(words)}"


def _examples(tools: Sequence[Listed]) -> Iterator[str]:
    yield f"{wording.EXAMPLES}:"
    for family, members in grouped(tools):
        shown = ", ".join(_name(tool) for tool in members[:_EXAMPLES])
        more = ", ..." if len(members) > _EXAMPLES else ""
        yield f"- {clean(family.name) if family else '(others)'} ({len(members)}): {shown}{more}"


def _name(tool: Tool) -> str:
    return clean(tool.name)[:_LONGEST_NAME]


def _line(head: str, tool: Tool) -> str:
    purpose = sentence(tool.description)
    return f"{head}: {purpose}" if purpose else head
