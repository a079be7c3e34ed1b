"""Plain BM25 over one text a tool, by the package `rank_bm25`: no fields. For who wants a ranking
that everybody knows, and the oracle of the tests.
"""

from collections.abc import Sequence
from functools import cached_property

from rank_bm25 import BM25Plus

from app.core.ranking.words import STOP_WORDS, words
from app.core.tools import Tool


class Bm25:
    """The same words as the default ranker's, ranked by `rank_bm25`."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._texts = [words(f"{tool.name} {tool.description}") for tool in tools]

    def rank(self, query: str) -> list[tuple[int, float]]:
        """Positions of the tools that say a word of the query, best first, with their scores."""
        said = set(words(query[:2_000], STOP_WORDS))
        found = [at for at, text in enumerate(self._texts) if not said.isdisjoint(text)]
        if not found:
            return []
        scores = self._model.get_scores(list(said))
        return sorted(((at, float(scores[at])) for at in found), key=lambda hit: -hit[1])

    @cached_property
    def _model(self) -> BM25Plus:
        return BM25Plus(self._texts)
