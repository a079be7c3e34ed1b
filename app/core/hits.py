"""What rankers say of a search: values only, so that any ranker can make them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import NamedTuple


class Hit(NamedTuple):
    """A tool that matches a query."""

    name: str
    confidence: float
    """In the ranker's own scale: higher is surer."""


Rankings = Sequence[Sequence[Hit]]
"""For each query of a search the tools that match, best first."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The rankings of one search, and whose they are."""

    ranker: str
    """Who is served."""
    served: Rankings
    by_ranker: Mapping[str, Rankings] = field(default_factory=dict)
    """What each of the rankers that were asked said."""
    fallback: str | None = None
    """Why the ranker that the policy names is not served, or not for every query."""
    seconds: float = 0.0

    @property
    def confidence(self) -> float | None:
        """Of the best hit, None where nothing was found."""
        return max((hits[0].confidence for hits in self.served if hits), default=None)


def best(rankings: Rankings) -> list[str]:
    """The names of all hits: the best of every query first, then the second best."""
    turns = zip_longest(*rankings)
    return list(dict.fromkeys(hit.name for turn in turns for hit in turn if hit is not None))


def rank_of(name: str, rankings: Rankings) -> int:
    """The best place that any query gives a tool, from 1; 0 where none finds it."""
    places = (place for hits in rankings for place, hit in enumerate(hits, 1) if hit.name == name)
    return min(places, default=0)
