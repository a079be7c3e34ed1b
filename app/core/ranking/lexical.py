"""The default ranker: an inverted index over weighted fields, asked for what a query means.

    a name that the query says all of  recall@5 +.025, MRR +.031
    the rest                           see `words`, `fields`, `related`, `spelling`, `families`

What an idea brings is what the macro mean over 15 public query sets loses without it.

Scores are worked out when the index is built, so a query only adds numbers up: for each of its
words the best that a tool has to say to it, be it the word itself, its right spelling or another
word for it (the best and not the sum, which was no better).
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import compress, islice, pairwise
from operator import itemgetter
from typing import NamedTuple

from app.core.ranking import families, fields
from app.core.ranking.postings import Postings, coverage, weigh
from app.core.ranking.related import related
from app.core.ranking.spelling import Spelling
from app.core.ranking.words import LINKING_WORDS, STOP_WORDS, words
from app.core.tools import Tool

_MARKS = re.compile(r"[\W_]+")
_NAME_COVERAGE = 0.9
"""How much a name gains when the query says all of it: `create_issue` before
`create_issue_comment_reaction` for "create issue"."""
_NAMED = 1.15
"""What the score of a tool is multiplied with when the query names its family."""
_ANSWERS = 0.25
_TOP = 3
"""How much a tool gains when the best few of its family answer as well as the best of all."""
_MANY_WORDS = 12
"""Of longer queries the other words for theirs count less, by the square root of how much
longer they are: they say more themselves. Changes recall by .001 at most."""
_SAYS_ENOUGH = 32
"""Words of a query from which on other words for them are left out: recall@5 -.0003, and half
the time that such a query takes when it is the first."""
_COMPOUND = 0.9
"""Weight of words that one side writes as one: "screen shot", "pullrequest"."""
_SLIP = 0.6
"""Weight of the words that an unknown one may be a slip of."""
_COMMON = 0.25
_FEW = 20
"""Share and number of the tools that may say another word for one of the query: what more of
them say tells none of them from the rest. MRR +.003, and half the work."""
_LONGEST_QUERY = 2_000
"""Characters that are read; a page of text is no query."""
_MOST_WORDS = 160
"""Read of a query: in scripts that have no spaces these are some 80 characters."""
_MOST_UNKNOWN = 16
"""Words that no tool says and that are put right: some 50 us each."""
_MOST_WORK = 8_000
"""Numbers that are added up for one query, the rarest words' first: some 2 ms. With twice as many
recall@5 is .0003 higher."""

Meanings = Mapping[str, float]
"""Words of the catalog that answer one word of the query, with what they count."""


class Answer(NamedTuple):
    """What the tools have to say to one word."""

    scores: Postings
    shares: Postings
    """Of each tool's name."""


class Index:
    """What the tools of a catalog say, ready to be asked. Its answers depend on the tools and
    the query alone; it may be asked from several threads."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        texts = [fields.read(tool) for tool in tools]
        self._count = len(tools)
        self._postings, rarity = weigh(texts)
        self._coverage = coverage([words(tool.name, LINKING_WORDS) for tool in tools], rarity)
        self._spelling = Spelling(self._postings)
        members = families.members([tool.name for tool in tools])
        self._families: list[Callable[[list[float]], Sequence[float]]] = []
        """What takes the scores of a family's tools from those of all."""
        self._family_of = [-1] * len(tools)
        """A tool's place in `_families`; the last one is for tools that have none."""
        for positions in members.values():
            if len(positions) > 1:
                for position in positions:
                    self._family_of[position] = len(self._families)
                self._families.append(_taker(positions))
        self._by_family_name = families.named(members)
        self._named = {tool.name: position for position, tool in enumerate(tools)}
        for position, tool in enumerate(tools):
            self._named.setdefault(key(tool.name), position)
        self._known: dict[str, Meanings] = {}
        self._answers: dict[tuple[tuple[str, float], ...], Answer] = {}
        self._room = sum(map(len, self._postings.values()))
        """Numbers that `_known` and `_answers` may still hold: as many as the index itself."""

    def rank(self, query: str) -> list[tuple[int, float]]:
        """Positions of the tools that match, best first, with their scores. Ties keep the
        catalog's order; an exact name, in any case or separator style, always wins."""
        query = query[:_LONGEST_QUERY]
        found = words(query, STOP_WORDS, joins=True, most=_MOST_WORDS)
        said = dict.fromkeys(found or words(query, most=_MOST_WORDS))
        scores = [0.0] * self._count
        covered: dict[int, float] = {}
        work = 0
        for size, weight, meanings in sorted(self._heard(said), key=itemgetter(0)):
            if (work := work + size) > _MOST_WORK:
                break
            answer = self._answer(meanings)
            for position, score in answer.scores.items():
                scores[position] += weight * score
            for position, share in answer.shares.items():
                covered[position] = covered.get(position, 0.0) + weight * share
        for position, share in covered.items():
            scores[position] *= 1 + _NAME_COVERAGE * (share if share < 1 else 1)
        for position in {at for word in said for at in self._by_family_name.get(word, ())}:
            scores[position] *= _NAMED
        favours, family_of = self._favours(scores), self._family_of
        matched = compress(range(self._count), scores)
        ranked = [(at, scores[at] * favours[family_of[at]]) for at in matched]
        ranked.sort(key=itemgetter(1), reverse=True)
        exact = self._named.get(query.strip(), self._named.get(key(query)))
        if exact is not None:
            best = ranked[0][1] if ranked else 0.0
            ranked = [(exact, 1.0 + best), *(one for one in ranked if one[0] != exact)]
        return ranked

    def _favours(self, scores: list[float]) -> list[float]:
        """What the scores of each family are multiplied with; last, of tools that have none:
        a family that has several answers gains."""
        best = max(scores, default=0.0) or 1.0
        gain = _ANSWERS / _TOP / best
        return [*[1 + gain * sum(sorted(take(scores))[-_TOP:]) for take in self._families], 1.0]

    def _heard(self, said: Collection[str]) -> Iterator[tuple[int, float, Meanings]]:
        """For each word of the query the work it makes, what it counts, and what it may mean.
        Other words for it that the query says itself are heard by themselves."""
        unknown = []
        need = round(min(1.0, (_MANY_WORDS / max(len(said), 1)) ** 0.5), 1)
        for word in said:
            others = self._others(word) if len(said) < _SAYS_ENOUGH else {}
            meanings = {
                other: need * weight for other, weight in others.items() if other not in said
            }
            if word in self._postings:
                yield self._weighed(1.0, {word: 1.0, **meanings})
            elif meanings:
                yield self._weighed(1.0, meanings)
            elif not related(word):
                unknown.append(word)
        for left, right in pairwise(said):
            if (joined := left + right) in self._postings and joined not in said:
                yield self._weighed(_COMPOUND, {joined: 1.0})
        for word in islice(unknown, _MOST_UNKNOWN):
            if halves := self._spelling.halves(word):
                for half in halves:
                    if half not in said:
                        yield self._weighed(_COMPOUND, {half: 1.0})
            elif meant := self._spelling.meant(word):
                yield self._weighed(_SLIP, dict.fromkeys(meant, 1.0))

    def _others(self, word: str) -> Meanings:
        """The other words for a word that some tools of the catalog say, and not most."""
        known = self._known.get(word)
        if known is None:
            most = max(_FEW, _COMMON * self._count)
            known = {
                other: weight
                for other, weight in related(word).items()
                if 0 < len(self._postings.get(other, ())) <= most
            }
            if len(known) < self._room:
                self._room -= 1 + len(known)
                self._known[word] = known
        return known

    def _weighed(self, weight: float, meanings: Meanings) -> tuple[int, float, Meanings]:
        return sum(len(self._postings[word]) for word in meanings), weight, meanings

    def _answer(self, meanings: Meanings) -> Answer:
        """For each tool the best that it says of these."""
        if len(meanings) == 1 and 1.0 in meanings.values():
            (word,) = meanings
            return Answer(self._postings[word], self._coverage.get(word, {}))
        which = tuple(meanings.items())
        answer = self._answers.get(which)
        if answer is None:
            answer = Answer(_best(meanings, self._postings), _best(meanings, self._coverage))
            if (size := len(answer.scores) + len(answer.shares)) <= self._room:
                self._room -= size
                self._answers[which] = answer
        return answer


def _taker(positions: list[int]) -> Callable[[list[float]], Sequence[float]]:
    """What takes these from a list: in a third of the time where they are next to each other."""
    first, end = positions[0], positions[-1] + 1
    together = len(positions) == end - first
    return itemgetter(slice(first, end)) if together else itemgetter(*positions)


def _best(meanings: Meanings, postings: dict[str, Postings]) -> Postings:
    (word, weight), *others = meanings.items()
    best = dict(postings.get(word, {}))  # copied in a tenth of the time that weighing takes
    if weight != 1:
        best = {position: weight * number for position, number in best.items()}
    best_of = best.get
    for word, weight in others:
        for position, number in postings.get(word, {}).items():
            if (weighed := weight * number) > best_of(position, 0.0):
                best[position] = weighed
    return best


def key(name: str) -> str:
    """A name without case and separators: `createIssue`, `create-issue` and `create_issue`
    are one."""
    return _MARKS.sub("", name).lower()
