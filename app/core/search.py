"""A search call: its arguments and its hits. A search never errors."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from app.core.answer import Answer
from app.core.calls import Call
from app.core.codec import decode
from app.core.hits import Hit, Ranked, Rankings, best, rank_of
from app.core.policy import MOST_HITS
from app.core.ranking import Ranker
from app.core.shape import Shape
from app.core.tools import Tool

_MOST_QUERIES = 16
_LONGEST_QUERY = 1_000
"""Characters; a model that repeats itself can write millions."""
_MOST_QUOTED = 65_536
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


def read_search(call: Call) -> Search:
    """Whatever the model meant: a list, one text, `query`, JSON in a string, half a JSON."""
    value = _unwrapped(call.arguments)
    limit = value.get("limit") if isinstance(value, dict) else None
    if isinstance(value, dict):
        value = next((value[k] for k in ("queries", "query") if value.get(k)), value)
        if isinstance(value, dict):
            value = {k: v for k, v in value.items() if k != "limit"}
    texts = (text.strip()[:_LONGEST_QUERY] for text in _texts(_unwrapped(value)))
    queries = dict.fromkeys(text for query in texts for text in _selected(query) if text)
    return Search(call, tuple(queries)[:_MOST_QUERIES], _number(limit))


def sorted_out(calls: Iterable[Call], room: int) -> tuple[list[Search], dict[Call, Answer]]:
    """The searches that want a ranking, and the answers to those that get none: they say
    nothing that can be searched for, or there is no room for one more."""
    wanted: list[Search] = []
    told: dict[Call, Answer] = {}
    for call in calls:
        search = read_search(call)
        made = len(wanted) + sum(answer.kind == "unread" for answer in told.values())
        if made >= room:
            told[call] = Answer("spent")
        elif search.queries:
            wanted.append(search)
        else:
            told[call] = Answer("unread")
    return wanted, told


@dataclass(frozen=True, slots=True)
class Searched:
    """A search that was answered, as it is told of to the operator."""

    call_id: str
    queries: tuple[str, ...]
    matched: tuple[str, ...]
    unmatched: tuple[str, ...]
    ranked: Ranked


def rank(ranker: Ranker, search: Search, shape: Shape) -> Rankings:
    """How a local ranker ranks the deferred tools for every query."""
    tools = shape.catalog.tools
    return [
        [
            Hit(tools[at].name, score)
            for at, score in ranker.rank(query)
            if tools[at].name in shape.deferred
        ]
        for query in search.queries
    ]


def find(
    ranked: Ranked,
    search: Search,
    admitted: Callable[[str], Tool | None],
    budget: tuple[int, Callable[[Tool], int]],
    limit: int,
    *,
    last: bool,
) -> Answer:
    """The best tools of every query in turn, as many as the token budget has room for.

    Whole tools or none; the very first always fits, or it could never be reached.
    """
    room, cost = budget
    most = min(max(search.limit or limit, 1), MOST_HITS)
    hits = [[hit for hit in said if admitted(hit.name)][:most] for said in ranked.served]
    unmatched = tuple(q for q, said in zip(search.queries, hits, strict=True) if not said)
    found = best(hits)
    kept: list[str] = []
    for name in found:
        tool = admitted(name)
        assert tool is not None, "only admitted tools are kept"
        room -= cost(tool)
        if kept and room < 0:
            break
        kept.append(name)
    truncated = len(kept) < len(found)
    ranks = {
        ranker: [rank_of(name, rankings) for name in kept]
        for ranker, rankings in ranked.by_ranker.items()
    }
    return Answer("found", "bridge", tuple(kept), unmatched, truncated, last, ranks=ranks)


def _unwrapped(value: Any) -> Any:
    """JSON inside a string, twice at most; half a JSON gives what it quotes."""
    for _ in range(2):
        if not isinstance(value, str):
            break
        try:
            value = decode(value)
        except ValueError:
            if value.lstrip().startswith(("{", "[", '"')):
                quoted = _QUOTED.findall(value[:_MOST_QUOTED])
                return [text for text, is_name in quoted if text and not is_name]
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
