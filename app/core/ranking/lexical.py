"""The default ranker: BM25F over an inverted index, with the name counting most.

Scores are worked out when the index is built, so a query only adds numbers up. The
inverse document frequency is always positive, so a catalog of one tool has a ranking too.
Figures and sources: https://doi.org/10.1561/1500000019 (BM25F) for the form.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from itertools import pairwise
from math import log
from typing import NamedTuple

from app.core.chunks import dicts
from app.core.codec import Json
from app.core.ranking.words import LINKING_WORDS, STOP_WORDS, words
from app.core.tools import Tool

_SATURATION = 1.2
_NAME_COVERAGE = 0.9
"""How much a name gains when the query says all of it: `create_issue` before
`create_issue_comment_reaction` for "create issue"."""
_JOIN = 0.9
"""Weight of two neighbouring query words that one tool writes as one: "screen shot"."""
_LONGEST_QUERY = 64
"""Distinct words of a query that are looked up; a page of text is no query."""
_LONGEST_TEXT = 4_000
"""Characters of one field that are read; what comes later says nothing new."""
_DEEPEST = 3


class _Field(NamedTuple):
    weight: float
    length_norm: float
    """0: a long text counts as much as a short one; 1: in proportion to its length."""


_FIELDS = {
    "name": _Field(3.0, 0.5),
    "description": _Field(1.0, 0.6),
    "properties": _Field(0.5, 0.6),
    "property_descriptions": _Field(0.3, 0.7),
    "enums": _Field(0.3, 0.7),
    "nested_properties": _Field(0.2, 0.7),
    "nested_descriptions": _Field(0.1, 0.7),
}

Postings = list[tuple[int, float]]


class Index:
    """What the tools of a catalog say, ready to be asked."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        texts = [_fields(tool) for tool in tools]
        self._postings, rarity = _weigh(texts)
        self._coverage = _coverage([text["name"] for text in texts], rarity)
        self._by_key: dict[str, int] = {}
        for position, tool in enumerate(tools):
            self._by_key.setdefault(key(tool.name), position)

    def rank(self, query: str) -> list[tuple[int, float]]:
        """Positions of the tools that match, best first, with their scores. Ties keep the
        catalog's order; an exact name, in any case or separator style, always wins."""
        scores: dict[int, float] = defaultdict(float)
        covered: dict[int, float] = defaultdict(float)
        for word, weight in self._terms(query).items():
            for position, score in self._postings.get(word, ()):
                scores[position] += weight * score
            for position, share in self._coverage.get(word, ()):
                covered[position] += weight * share
        for position, share in covered.items():
            scores[position] *= 1 + _NAME_COVERAGE * min(share, 1.0)
        exact = self._by_key.get(key(query))
        if exact is not None:
            scores[exact] = 1.0 + max(scores.values(), default=0.0)
        return nsmallest(len(scores), scores.items(), key=lambda hit: (-hit[1], hit[0]))

    def _terms(self, query: str) -> dict[str, float]:
        query = query[:_LONGEST_TEXT]
        said = (words(query, STOP_WORDS, joins=True) or words(query))[:_LONGEST_QUERY]
        terms = dict.fromkeys(said, 1.0)
        for left, right in pairwise(said):
            if (joined := left + right) in self._postings:
                terms.setdefault(joined, _JOIN)
        return terms


def key(name: str) -> str:
    """A name without case and separators: `createIssue`, `create-issue` and `create_issue`
    are one."""
    return re.sub(r"[\W_]", "", name).lower()


def _fields(tool: Tool) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {field: [] for field in _FIELDS}
    texts["name"].append(tool.name)
    texts["description"] += [tool.description, tool.namespace]
    for field, text in _schema_texts(tool.parameters, 0):
        texts[field].append(text)
    joins = {"name", "description"}
    return {
        field: words(" ".join(parts)[:_LONGEST_TEXT], LINKING_WORDS, joins=field in joins)
        for field, parts in texts.items()
    }


def _schema_texts(schema: Json, depth: int) -> Iterator[tuple[str, str]]:
    """Field and text of everything in a schema that a query may be about."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or depth > _DEEPEST:
        return
    nested = "nested_" if depth else ""
    for name, inner in properties.items():
        yield f"{nested}properties", name
        if not isinstance(inner, dict):
            continue
        if isinstance(text := inner.get("description"), str):
            yield "nested_descriptions" if depth else "property_descriptions", text
        for part in [inner, inner.get("items"), *_alternatives(inner)]:
            if isinstance(part, dict):
                yield from (("enums", value) for value in _enum(part))
                yield from _schema_texts(part, depth + 1)


def _alternatives(schema: Json) -> Iterator[Json]:
    for keyword in ("anyOf", "oneOf", "allOf"):
        yield from dicts(schema.get(keyword))


def _enum(schema: Json) -> list[str]:
    values = schema.get("enum")
    return [v for v in values if isinstance(v, str)] if isinstance(values, list) else []


def _weigh(texts: list[dict[str, list[str]]]) -> tuple[dict[str, Postings], dict[str, float]]:
    """For each word the tools that say it with the score it gives them; and its rarity."""
    count = len(texts)
    average = {
        field: sum(len(text[field]) for text in texts) / max(count, 1) or 1.0 for field in _FIELDS
    }
    weights: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for position, text in enumerate(texts):
        for field, (weight, norm) in _FIELDS.items():
            length = 1 - norm + norm * len(text[field]) / average[field]
            for word in text[field]:
                weights[word][position] += weight / length
    postings, rarity = {}, {}
    for word, by_tool in weights.items():
        rarity[word] = log(1 + (count - len(by_tool) + 0.5) / (len(by_tool) + 0.5))
        top = rarity[word] * (_SATURATION + 1)
        postings[word] = [(at, top * w / (_SATURATION + w)) for at, w in by_tool.items()]
    return postings, rarity


def _coverage(names: list[list[str]], rarity: dict[str, float]) -> dict[str, Postings]:
    """For each word the names that hold it, with its share of the name's rarity."""
    shares: dict[str, Postings] = defaultdict(list)
    for position, name in enumerate(names):
        distinct = dict.fromkeys(name)
        total = sum(rarity[word] for word in distinct) or 1.0
        for word in distinct:
            shares[word].append((position, rarity[word] / total))
    return dict(shares)
