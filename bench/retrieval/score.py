"""How well and how fast a ranker answered a query set.

Recall at k is the share of the right tools among the first k; hit at 5 the share of queries
with any of them there; MRR and nDCG look at the first ten.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log2
from statistics import fmean

from bench.retrieval.queries import QuerySet
from bench.retrieval.rankers import Factory

_DEPTH = 10


@dataclass(frozen=True)
class Score:
    """Means over the queries of a set, or over sets; milliseconds of CPU time."""

    r1: float
    r5: float
    r10: float
    hit5: float
    ndcg: float
    mrr: float
    build_ms: float
    p50_ms: float
    p95_ms: float


QUALITY = ("r1", "r5", "r10", "hit5", "ndcg", "mrr")
"""The members of a score that are better when they are higher."""


def score(factory: Factory, asked: QuerySet) -> Score:
    """Build the ranker, ask it everything."""
    names = [tool.name for tool in asked.tools]
    start = time.process_time()
    ranker = factory(asked.tools)
    build = time.process_time() - start
    times, found = [], []
    for query in asked.queries:
        start = time.process_time()
        ranked = ranker.rank(query.text)
        times.append(time.process_time() - start)
        found.append(_quality([names[at] for at, _ in ranked[:_DEPTH]], query.gold))
    quality = (fmean(values) for values in zip(*found, strict=True))
    seconds = (build, _quantile(times, 0.5), _quantile(times, 0.95))
    return Score(*quality, *(1000 * one for one in seconds))


def macro(scores: Sequence[Score]) -> Score:
    """Every set counts the same, however many queries it has."""
    members = Score.__dataclass_fields__
    return Score(*(fmean(getattr(score, member) for score in scores) for member in members))


def _quality(best: list[str], gold: frozenset[str]) -> tuple[float, ...]:
    right = [rank for rank, name in enumerate(best) if name in gold]
    ideal = sum(1 / log2(rank + 2) for rank in range(min(_DEPTH, len(gold))))
    return (
        *(sum(rank < k for rank in right) / len(gold) for k in (1, 5, _DEPTH)),
        float(any(rank < 5 for rank in right)),
        sum(1 / log2(rank + 2) for rank in right) / ideal,
        1 / (right[0] + 1) if right else 0.0,
    )


def _quantile(values: list[float], share: float) -> float:
    return sorted(values)[ceil(share * len(values)) - 1]
