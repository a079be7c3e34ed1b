"""The default ranker: an inverted index over weighted fields, asked for what a query means.

Scores are worked out when the index is built, so a query only adds numbers up: for each of its
words the best that a tool has to say to it, whether the word itself, its right spelling or a
synonym (the best and not the sum, which was no better).

    name coverage                      recall@5 +.01, MRR +.02
    other words for the same thing     recall@5 +.02, MRR +.02: see `related`
    spelling                           see `spelling`
    families                           see `families`
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from app.core.ranking import families, fields
from app.core.ranking.postings import Postings, coverage, weigh
from app.core.ranking.related import related
from app.core.ranking.spelling import Spelling
from app.core.ranking.words import LINKING_WORDS, STOP_WORDS, words
from app.core.tools import Tool

_NAME_COVERAGE = 0.9
"""How much a name gains when the query says all of it: `create_issue` before
`create_issue_comment_reaction` for "create issue"."""
_FAMILY = 1.15
_COMPOUND = 0.9
"""Weight of words that one side writes as one: "screen shot", "pullrequest"."""
_SLIP = 0.6
_LONGEST_QUERY = 2_000
"""Characters that are read; a page of text is no query."""
_MOST_WORDS = 64

Concept = dict[str, float]
"""Words of the catalog that answer one word of the query, with their weights."""


class Index:
    """What the tools of a catalog say, ready to be asked. Its answers depend on the tools and
    the query alone; it may be asked from several threads."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        texts = [fields.read(tool) for tool in tools]
        self._count = len(tools)
        self._postings, rarity = weigh(texts)
        self._coverage = coverage([words(t.name, LINKING_WORDS) for t in tools], rarity)
        self._spelling = Spelling(self._postings)
        self._families = families.members([tool.name for tool in tools])
        self._by_key: dict[str, int] = {}
        for position, tool in enumerate(tools):
            self._by_key.setdefault(key(tool.name), position)

    def rank(self, query: str) -> list[tuple[int, float]]:
        """Positions of the tools that match, best first, with their scores. Ties keep the
        catalog's order; an exact name, in any case or separator style, always wins."""
        query = query[:_LONGEST_QUERY]
        said = self._said(query)
        scores = [0.0] * self._count
        covered: dict[int, float] = {}
        for concept in self._concepts(said):
            for position, score in _best(concept, self._postings):
                scores[position] += score
            for position, share in _best(concept, self._coverage):
                covered[position] = covered.get(position, 0.0) + share
        for position, share in covered.items():
            scores[position] *= 1 + _NAME_COVERAGE * min(share, 1.0)
        for position in {at for word in said for at in self._families.get(word, ())}:
            scores[position] *= _FAMILY
        exact = self._by_key.get(key(query))
        if exact is not None:
            scores[exact] = 1.0 + max(scores)
        found = [position for position in range(self._count) if scores[position]]
        found.sort(key=scores.__getitem__, reverse=True)
        return [(position, scores[position]) for position in found]

    def _said(self, query: str) -> list[str]:
        said = words(query, STOP_WORDS, joins=True) or words(query)
        return list(dict.fromkeys(said))[:_MOST_WORDS]

    def _concepts(self, said: list[str]) -> Iterator[Concept]:
        for word in said:
            concept = {word: 1.0} if word in self._postings else {}
            others = related(word)
            if not concept and (halves := self._spelling.halves(word)):
                yield from ({half: _COMPOUND} for half in halves if half not in said)
                continue
            if not concept and not others:
                concept = dict.fromkeys(self._spelling.meant(word), _SLIP)
            for other, weight in others.items():
                if other in self._postings and other not in said:
                    concept[other] = weight
            if concept:
                yield concept
        for left, right in pairwise(said):
            if (joined := left + right) in self._postings and joined not in said:
                yield {joined: _COMPOUND}


def _best(concept: Concept, postings: dict[str, Postings]) -> Postings:
    """For each tool the best that it has for a concept."""
    best: dict[int, float] = {}
    for word, weight in concept.items():
        for position, score in postings.get(word, ()):
            if weight * score > best.get(position, 0.0):
                best[position] = weight * score
    return list(best.items())


def key(name: str) -> str:
    """A name without case and separators: `createIssue`, `create-issue` and `create_issue`
    are one."""
    return re.sub(r"[\W_]", "", name).lower()
