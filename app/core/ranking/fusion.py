"""Two rankings made one by their scores: what the tools say, and what they mean.

By score, not by rank: a fused rank follows the embeddings wherever they are noise, as for
Chinese tools under an English model, and loses there more than it wins elsewhere.
"""

from collections.abc import Mapping, Sequence
from math import sqrt

from app.core.hits import Hit

_MEANING = 0.4
"""Share of the similarity in the fused score: .3 to .5 give the same recall within .01."""
_STANDS_OUT = 3.0
"""Standard deviations above the mean similarity from which on a tool counts that no word finds:
one tool in 700 is there by chance. Costs .002 recall@5, and without it nothing is ever
unmatched, since something is always nearest."""


def fuse(lexical: Sequence[Hit], similarity: Mapping[str, float]) -> list[Hit]:
    """Best first. `similarity`: of every tool to the query, in any model's scale."""
    mean, deviation = _spread(list(similarity.values()))
    farthest = (len(similarity) - 1) / sqrt(len(similarity) or 1)
    least = mean + deviation * min(_STANDS_OUT, 0.8 * farthest)
    nearest = max(similarity.values(), default=0.0) - mean or 1.0
    top = max((hit.confidence for hit in lexical), default=0.0) or 1.0
    said = {hit.name: hit.confidence / top for hit in lexical}
    fused = [
        Hit(name, (1 - _MEANING) * said.get(name, 0.0) + _MEANING * max(near - mean, 0.0) / nearest)
        for name, near in similarity.items()
        if name in said or near >= least > mean
    ]
    return sorted(fused, key=lambda hit: -hit.confidence)


def _spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation."""
    count = len(values) or 1
    mean = sum(values) / count
    return mean, sqrt(sum((value - mean) ** 2 for value in values) / count)
