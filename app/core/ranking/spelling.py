"""A query word that no tool says, put right: two words written as one, or one slip of the keys.

    with a slip in its longest word, a query loses .02 to .15 of recall@5; half to all of it
    comes back, and queries without slips lose nothing

Slips are found the SymSpell way (https://github.com/wolfgarbe/SymSpell): two words at one edit
or one transposition from each other share a form with one letter deleted.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sized
from functools import cached_property

from app.core.ranking.words import stem

_SHORTEST = 4
"""Letters of a word that can be misspelt: anything is one edit from a shorter one."""
_SHORTEST_HALF = 3
_LONGEST = 24
"""Letters of a word that is looked at: work and memory are quadratic in them."""
_MOST_READINGS = 2


class Spelling:
    """Knows the words of a catalog, each with the tools that say it."""

    def __init__(self, known: Mapping[str, Sized]) -> None:
        self._known = known

    def halves(self, word: str) -> Collection[str]:
        """The two known words that this one is made of, cut as near to the middle as can be."""
        if not _is_plain(word):
            return ()
        cuts = range(_SHORTEST_HALF, len(word) - _SHORTEST_HALF + 1)
        for cut in sorted(cuts, key=lambda cut: abs(2 * cut - len(word))):
            left, right = self._as_known(word[:cut]), self._as_known(word[cut:])
            if left and right:
                return left, right
        return ()

    def meant(self, word: str) -> list[str]:
        """The known words that this one may be a slip of, likeliest first: two at most. The
        first letter is hardly ever the wrong one."""
        if not _is_plain(word):
            return []
        shared: dict[str, int] = defaultdict(int)
        for form in _shortened(word):
            for known in self._by_form.get(form, ()):
                if known[0] == word[0] and abs(len(known) - len(word)) <= 1:
                    shared[known] += 1
        likeliest = sorted(shared, key=lambda known: (-shared[known], -len(self._known[known])))
        return likeliest[:_MOST_READINGS]

    def _as_known(self, word: str) -> str | None:
        return next((form for form in (word, stem(word)) if form in self._known), None)

    @cached_property
    def _by_form(self) -> dict[str, list[str]]:
        """Built at the first word that nobody knows; twice if two threads meet one at once."""
        by_form: dict[str, list[str]] = defaultdict(list)
        for known in filter(_is_plain, self._known):
            for form in _shortened(known):
                by_form[form].append(known)
        return dict(by_form)


def _is_plain(word: str) -> bool:
    return _SHORTEST <= len(word) <= _LONGEST and word.isascii() and word.isalpha()


def _shortened(word: str) -> set[str]:
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}
