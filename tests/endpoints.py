"""What the endpoints of remote rankers answer: embeddings, reranking, and a plain service."""

from typing import Any
from zlib import crc32

from tests.builders import dumps
from tests.upstream import Raw, Received

_DIMENSIONS = 64


def as_json(value: Any) -> Raw:
    """A reply."""
    return Raw(dumps(value), content_type="application/json")


def vector(text: str, dimensions: int = _DIMENSIONS) -> list[float]:
    """A text as the words that it holds: texts with the same words are near each other."""
    numbers = [0.0] * dimensions
    for word in text.lower().replace("_", " ").replace(":", " ").replace(".", " ").split():
        numbers[crc32(word.encode()) % dimensions] += 1.0
    return numbers


def embed(received: Received) -> Raw:
    """`/v1/embeddings`, in another order than asked for."""
    data = [
        {"object": "embedding", "index": at, "embedding": vector(text)}
        for at, text in enumerate(received.json["input"])
    ]
    return as_json({"object": "list", "data": data[::-1], "model": received.json["model"]})


def rerank(received: Received) -> Raw:
    """`/v1/rerank`: by the words that a document shares with the query."""
    asked = set(received.json["query"].lower().split())
    results = [
        {"index": at, "relevance_score": len(asked & set(document.lower().split())) / 10}
        for at, document in enumerate(received.json["documents"])
    ]
    return as_json({"id": "r1", "results": results, "meta": {"billed_units": {}}})


def named(*names: str) -> Raw:
    """A plain ranker that finds these, the first the surest."""
    tools = [{"name": name, "confidence": 1 - at / 10} for at, name in enumerate(names)]
    return as_json({"tools": tools})
