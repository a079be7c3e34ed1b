"""A search call: its arguments, its hits, its answer. A search never errors."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest
from typing import Any

from app.core import wording
from app.core.calls import Call
from app.core.catalog import Admits
from app.core.codec import Json, decode, encode
from app.core.policy import MOST_HITS
from app.core.shape import Shape
from app.core.tools import Tool

Rankings = Sequence[Sequence[str]]
"""For each query the names of the tools that match, best first."""

_MOST_QUERIES = 16
_DEEPEST = 3
_SELECT = "select:"
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)(?:"(\s*:)?|\Z)')
"""A text in JSON that may be cut off, and whether it is the name of a member."""


@dataclass(frozen=True, slots=True)
class Search:
    """A call of the bridge, read."""

    call: Call
    queries: tuple[str, ...]
    """Empty where the arguments said nothing that can be searched for."""
    limit: int | None = None
    """Hits a query, where the model asked for a number."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search brings into the conversation."""

    tools: tuple[Tool, ...]
    unmatched: tuple[str, ...]
    """The queries that nothing matched."""
    truncated: bool
    """The budget had no room for more."""


def read_search(call: Call) -> Search:
    """Whatever the model meant: a list, one text, `query`, JSON in a string, half a JSON."""
    value = _unwrapped(call.arguments)
    limit = value.get("limit") if isinstance(value, dict) else None
    if isinstance(value, dict):
        value = next((value[k] for k in ("queries", "query") if value.get(k)), value)
        if isinstance(value, dict):
            value = {k: v for k, v in value.items() if k != "limit"}
    texts = (text.strip() for text in _texts(_unwrapped(value)))
    queries = dict.fromkeys(text for query in texts for text in _selected(query) if text)
    return Search(call, tuple(queries)[:_MOST_QUERIES], _number(limit))


def rank(search: Search, shape: Shape) -> Rankings:
    """The lexical ranking of every query."""
    tools = shape.catalog.tools
    return [
        [tools[position].name for position, _ in shape.catalog.index.rank(query)]
        for query in search.queries
    ]


def find(
    rankings: Rankings,
    search: Search,
    admitted: Callable[[str], Tool | None],
    budget: tuple[int, Callable[[Tool], int]],
    limit: int,
) -> Found:
    """The best tools of every query in turn, as many as the token budget has room for.

    Whole tools or none; the very first always fits, or it could never be reached.
    """
    room, cost = budget
    most = min(max(search.limit or limit, 1), MOST_HITS)
    hits = [[t for name in names if (t := admitted(name))][:most] for names in rankings]
    unmatched = tuple(q for q, tools in zip(search.queries, hits, strict=True) if not tools)
    best = dict.fromkeys(tool for turn in zip_longest(*hits) for tool in turn if tool)
    kept: list[Tool] = []
    for tool in best:
        room -= cost(tool)
        if kept and room < 0:
            return Found(tuple(kept), unmatched, truncated=True)
        kept.append(tool)
    return Found(tuple(kept), unmatched, truncated=False)


def answer(found: Found, *, last: bool) -> str:
    """The text of the tool message that answers a search."""
    notes = (
        (wording.FOUND, bool(found.tools)),
        (wording.NOTHING, not found.tools),
        (wording.SOME_UNMATCHED, bool(found.tools and found.unmatched)),
        (wording.TRUNCATED, found.truncated),
        (wording.LAST_SEARCH, last),
    )
    said: Json = {
        "tools": [{"name": tool.name, "description": tool.description} for tool in found.tools],
        "unmatched": list(found.unmatched),
        "note": " ".join(note for note, applies in notes if applies),
    }
    return encode(said).decode()


def how_to_search(shape: Shape) -> str:
    """The answer to a search whose arguments said nothing."""
    return _note(wording.HOW_TO_SEARCH.format(families=shape.families))


def no_more_searches() -> str:
    """The answer to a search past the cap."""
    return _note(wording.NO_MORE_SEARCHES)


def unknown(name: str, shape: Shape, admits: Admits, bridge: str) -> str:
    """The answer to a call of a tool that does not exist, or that nobody may know of."""
    close = shape.catalog.close(name, admits)
    sentences = [wording.UNKNOWN.format(name=name)]
    if close:
        sentences.append(wording.CLOSE.format(names=", ".join(f"`{one}`" for one in close)))
    if bridge:
        sentences.append(wording.USE_SEARCH.format(bridge=bridge))
    return " ".join(sentences)


def _note(text: str) -> str:
    return encode({"tools": [], "unmatched": [], "note": text}).decode()


def _unwrapped(value: Any) -> Any:
    """JSON inside a string, twice at most; half a JSON gives what it quotes."""
    for _ in range(2):
        if not isinstance(value, str):
            break
        try:
            value = decode(value)
        except ValueError:
            if value.lstrip().startswith(("{", "[", '"')):
                return [text for text, is_name in _QUOTED.findall(value) if text and not is_name]
            break
    return value


def _texts(value: Any, depth: int = 0) -> list[str]:
    """Every text in a value, numbers included."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, bool) or value is None or depth > _DEEPEST:
        return []
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for item in value for text in _texts(item, depth + 1)]
    return [str(value)]


def _selected(query: str) -> list[str]:
    """`select:one,two` asks for tools by their names."""
    if not query.startswith(_SELECT):
        return [query]
    return [name.strip() for name in query.removeprefix(_SELECT).split(",")]


def _number(value: Any) -> int | None:
    try:
        return int(min(value if isinstance(value, int | Decimal) else int(value), MOST_HITS))
    except (TypeError, ValueError, ArithmeticError):
        return None
