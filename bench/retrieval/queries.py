"""Query sets: one JSON object a file,
`{"name", "tools": [OpenAI tools], "queries": [{"query", "gold": [names], "style"?}]}`.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from app.core.tools import Tool, parse


@dataclass(frozen=True)
class Query:
    text: str
    gold: frozenset[str]
    """The names of the right tools."""


@dataclass(frozen=True)
class QuerySet:
    name: str
    tools: tuple[Tool, ...]
    queries: tuple[Query, ...]


def read_sets(folder: Path) -> list[QuerySet]:
    """Every set in a folder, by file name. Raises ValueError: a file is no query set."""
    return [_read(path) for path in sorted(folder.glob("*.json"))]


def _read(path: Path) -> QuerySet:
    try:
        held = json.loads(path.read_text("utf-8"))
        tools = tuple(
            parse(json.dumps(tool, ensure_ascii=False).encode(), at)
            for at, tool in enumerate(held["tools"])
        )
        queries = tuple(Query(q["query"], frozenset(q["gold"])) for q in held["queries"])
    except (KeyError, TypeError, ValueError) as reason:
        raise ValueError(f"{path.name} is no query set: {reason!r}") from reason
    if not queries or not all(query.gold for query in queries):
        raise ValueError(f"{path.name} has a query without a right tool, or no query")
    return QuerySet(held.get("name", path.stem), tools, queries)
