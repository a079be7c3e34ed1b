"""Plain BM25 over one text a tool, by the package `rank_bm25`: no fields, no synonyms, no
spelling. For who wants a ranking that everybody knows, and the oracle of the tests.
"""

from collections.abc import Sequence
from functools import cached_property
from math import log
from typing import Any

from app.core.ranking import fields
from app.core.ranking.words import STOP_WORDS, words
from app.core.tools import Tool

_NAME_TIMES = 3
"""BM25 has no fields: a word of the name counts by being said more than once."""
_LONGEST_QUERY = 2_000
_MOST_WORDS = 64


class Bm25:
    """The same words as the default ranker's, ranked by `rank_bm25`."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = tools

    def rank(self, query: str) -> list[tuple[int, float]]:
        """Positions of the tools that say a word of the query, best first, with their scores.
        Ties keep the catalog's order."""
        query = query[:_LONGEST_QUERY]
        said = list(dict.fromkeys(words(query, STOP_WORDS, joins=True) or words(query)))
        known = [word for word in said if word in self._said_by][:_MOST_WORDS]
        if not known:
            return []
        scores = self._model.get_scores(known)
        found = sorted({at for word in known for at in self._said_by[word]})
        found.sort(key=scores.__getitem__, reverse=True)
        return [(position, float(scores[position])) for position in found]

    @cached_property
    def _texts(self) -> list[list[str]]:
        return [_text(tool) for tool in self._tools]

    @cached_property
    def _said_by(self) -> dict[str, list[int]]:
        """A score cannot say whether a tool matches: the library's can be 0 where it does."""
        said_by: dict[str, list[int]] = {}
        for position, text in enumerate(self._texts):
            for word in dict.fromkeys(text):
                said_by.setdefault(word, []).append(position)
        return said_by

    @cached_property
    def _model(self) -> Any:
        """Asked only if there is a word, since the library divides by the number of words."""
        from rank_bm25 import BM25Okapi  # brings numpy: only who asks for it pays 30 MB

        model = BM25Okapi(self._texts)
        count = len(self._texts)
        # The library's own is 0 for a word that half of the tools say and is mended from there
        # with their mean, which is 0 or less in a catalog of one or two tools.
        model.idf = {
            word: log(1 + (count - len(at) + 0.5) / (len(at) + 0.5))
            for word, at in self._said_by.items()
        }
        return model


def _text(tool: Tool) -> list[str]:
    text = fields.read(tool)
    return text["name"] * _NAME_TIMES + [word for field in text.values() for word in field]
