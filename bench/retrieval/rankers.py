"""What can be asked, by the name that `--ranker` takes."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import get_args

from app.core.calls import Call
from app.core.catalog import compile_catalog
from app.core.policy import Policy, RemoteName
from app.core.ranking import Ranker
from app.core.ranking.bm25 import Bm25
from app.core.ranking.lexical import Index
from app.core.search import Search
from app.core.shape import compile_shape
from app.core.tools import Tool
from app.main import create_rankers
from app.settings import Settings

Factory = Callable[[Sequence[Tool]], Ranker]
_PATIENCE = 60.0
"""Seconds for an answer: what is measured here is not a slow machine."""


class Remote:
    """A ranker at an endpoint (TOOLFOLD_RANKER_URL, _MODEL, _KEY), asked as requests ask it."""

    def __init__(self, kind: RemoteName, tools: Sequence[Tool]) -> None:
        self._at = {tool.name: at for at, tool in enumerate(tools)}
        raw = b"[" + b",".join(tool.raw for tool in tools) + b"]"
        self._policy = Policy(ranker=kind, deferred=("*",), manifest_tokens=0)
        self._shape = compile_shape(compile_catalog(raw, len), self._policy, len)
        self._runner = asyncio.Runner()
        self._rankers = create_rankers(Settings(ranker=kind, ranker_timeout=_PATIENCE))
        self._runner.run(self._rankers.prepare(self._shape, self._policy))

    def rank(self, query: str) -> list[tuple[int, float]]:
        """Raises RuntimeError: another ranker would have been served."""
        search = Search(Call(), (query,))
        ranked = self._runner.run(self._rankers.rank(search, self._shape, self._policy))
        if ranked.fallback not in (None, "nothing-found"):
            raise RuntimeError(f"{self._policy.ranker}: {ranked.fallback}")
        return [(self._at[hit.name], hit.confidence) for hit in ranked.served[0]]


RANKERS: dict[str, Factory] = {
    "lexical": Index,
    "bm25": Bm25,
    **{kind: partial(Remote, kind) for kind in get_args(RemoteName)},
}
