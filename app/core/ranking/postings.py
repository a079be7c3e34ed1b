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
"""Positions of tools, each with a number. No pairs: the garbage collector looks through those,
and not through a dict of numbers, which saves a fifth of the time that an index takes."""


def weigh(texts: list[Text]) -> tuple[dict[str, Postings], dict[str, float]]:
    """For each word the tools that say it with the score it gives them; and its rarity."""
    count = len(texts)
    average = {
        field: sum(len(text[field]) for text in texts) / max(count, 1) or 1.0 for field in FIELDS
    }
    weights: dict[str, dict[int, float]] = defaultdict(dict)
    for position, text in enumerate(texts):
        for field, (weight, norm) in FIELDS.items():
            if not text[field]:
                continue
            one = weight / (1 - norm + norm * len(text[field]) / average[field])
            for word in text[field]:
                by_tool = weights[word]
                by_tool[position] = by_tool.get(position, 0.0) + one
    postings, rarity = {}, {}
    # Dicts of their own: the numbers of a word next to each other are added up in 2/3 of the time.
    for word, by_tool in weights.items():
        rarity[word] = log(1 + (count - len(by_tool) + 0.5) / (len(by_tool) + 0.5))
        top = rarity[word] * (_SATURATION + 1)
        postings[word] = {at: top * w / (_SATURATION + w) for at, w in by_tool.items()}
    return postings, rarity


def coverage(names: list[list[str]], rarity: dict[str, float]) -> dict[str, Postings]:
    """For each word the names that hold it, with its share of the name's rarity."""
    shares: dict[str, Postings] = defaultdict(dict)
    for position, name in enumerate(names):
        distinct = dict.fromkeys(name)
        total = sum(rarity[word] for word in distinct) or 1.0
        for word in distinct:
            shares[word][position] = rarity[word] / total
    return dict(shares)
