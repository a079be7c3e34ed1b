"""For each word the tools that say it, with all that can be worked out before a query comes.

BM25F (https://doi.org/10.1561/1500000019): a word's weights in the fields of a tool are added,
each divided by its field's length, and only then saturated. The inverse document frequency is
the one that is always positive, so a catalog of one tool has a ranking too.
"""

from collections import defaultdict
from math import log

from app.core.ranking.fields import FIELDS, Text

_SATURATION = 1.2
"""BM25's k1, its usual value; .9 to 2.4 were measured to be the same."""

Postings = dict[int, float]
"""Positions of tools, each with a number. No pairs: the garbage collector has nothing to look
through in a dict of numbers, and that was a third of the time that an index took."""


def weigh(texts: list[Text]) -> tuple[dict[str, Postings], dict[str, float]]:
    """For each word the tools that say it, with what it weighs there; and its rarity. A score
    is the product of the two."""
    count = len(texts)
    average = {
        field: sum(len(text[field]) for text in texts) / max(count, 1) or 1.0 for field in FIELDS
    }
    postings: dict[str, Postings] = defaultdict(dict)
    for position, text in enumerate(texts):
        for word, weight in _weights(text, average).items():
            postings[word][position] = (_SATURATION + 1) * weight / (_SATURATION + weight)
    rarity = {
        word: log(1 + (count - len(by_tool) + 0.5) / (len(by_tool) + 0.5))
        for word, by_tool in postings.items()
    }
    return dict(postings), rarity


def _weights(text: Text, average: dict[str, float]) -> dict[str, float]:
    """What each word weighs in a tool that says this, before it is saturated."""
    weights: dict[str, float] = {}
    for field, (weight, norm) in FIELDS.items():
        if said := text[field]:
            one = weight / (1 - norm + norm * len(said) / average[field])
            for word in said:
                weights[word] = weights.get(word, 0.0) + one
    return weights


def coverage(names: list[list[str]], rarity: dict[str, float]) -> dict[str, Postings]:
    """For each word the names that hold it, with its share of the name's rarity."""
    shares: dict[str, Postings] = defaultdict(dict)
    for position, name in enumerate(names):
        distinct = dict.fromkeys(name)
        total = sum(rarity[word] for word in distinct) or 1.0
        for word in distinct:
            shares[word][position] = rarity[word] / total
    return dict(shares)
