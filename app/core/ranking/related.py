"""Other words for a query word, which tools may use instead."""

from collections import defaultdict
from functools import cache
from importlib.resources import files

from app.core.ranking.words import stem

_SYNONYM = 0.4
"""What a synonym counts of the word itself."""


@cache
def _synonyms() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for line in files(__package__).joinpath("synonyms.txt").read_text().splitlines():
        said, arrow, meant = line.partition("#")[0].partition(">")
        heads = [stem(word) for word in said.split()]
        tails = [stem(word) for word in meant.split()] if arrow else heads
        for head in heads:
            found[head].update((tail, _SYNONYM) for tail in tails if tail != head)
    return dict(found)


def related(word: str) -> dict[str, float]:
    """Stems that mean nearly the same, each with what it counts of the word itself."""
    return _synonyms().get(word, {})
