"""By any HTTP service: it gets a query and the candidates, and gives names and confidences."""

from collections.abc import Sequence

import msgspec

from app.core.hits import Hit
from app.core.shape import Shape
from app.rankers.endpoint import Endpoint, together


class _Named(msgspec.Struct):
    name: str
    confidence: float


class _Answer(msgspec.Struct):
    tools: list[_Named]


class Plain:
    """One question a query, all at once: `{"query", "candidates": [{"name", "description"}]}`;
    the answer is `{"tools": [{"name", "confidence"}]}`."""

    name = "http"

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def prepare(self, shape: Shape) -> None:
        """There is nothing to prepare."""

    def warm(self, shape: Shape) -> None:
        """There is nothing to prepare."""

    async def rank(
        self, queries: Sequence[str], shape: Shape, lexical: Sequence[Sequence[Hit]]
    ) -> list[list[Hit]]:
        """Raises RankerFailed."""
        candidates = [
            {"name": tool.name, "description": tool.description} for tool in shape.deferred.values()
        ]
        return await together(self._ask(query, candidates) for query in queries)

    async def aclose(self) -> None:
        """Let go of every connection."""
        await self._endpoint.aclose()

    async def _ask(self, query: str, candidates: list[dict[str, str]]) -> list[Hit]:
        question = {"query": query, "candidates": candidates}
        answer = await self._endpoint.ask(question, _Answer)
        hits = [Hit(one.name, one.confidence) for one in answer.tools]
        return sorted(hits, key=lambda hit: -hit.confidence)
