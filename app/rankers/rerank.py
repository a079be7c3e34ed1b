"""By a rerank endpoint: `/v1/rerank` as Cohere and Jina have it, and vLLM, TEI and LiteLLM."""

from collections.abc import Sequence

import msgspec

from app.core.hits import Hit
from app.core.shape import Shape
from app.rankers.endpoint import Endpoint, together

_CANDIDATES = 100
"""Tools of one question, the lexical ranker's first: a reranker reads every one of them."""
_LONGEST_DOCUMENT = 1_000
"""Characters of a tool that are read: some 250 tokens; rerankers take 512 with the query."""


class _Result(msgspec.Struct):
    index: int
    relevance_score: float


class _Answer(msgspec.Struct):
    results: list[_Result]


class Rerank:
    """One question a query, all at once."""

    name = "rerank"

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        self._endpoint = endpoint
        self._model = model

    async def prepare(self, shape: Shape) -> None:
        """There is nothing to prepare."""

    def warm(self, shape: Shape) -> None:
        """There is nothing to prepare."""

    async def rank(
        self, queries: Sequence[str], shape: Shape, lexical: Sequence[Sequence[Hit]]
    ) -> list[list[Hit]]:
        """Raises RankerFailed."""
        pairs = zip(queries, lexical, strict=True)
        return await together(self._ask(query, shape, said) for query, said in pairs)

    async def aclose(self) -> None:
        """Let go of every connection."""
        await self._endpoint.aclose()

    async def _ask(self, query: str, shape: Shape, lexical: Sequence[Hit]) -> list[Hit]:
        names = list(dict.fromkeys([*(hit.name for hit in lexical), *shape.deferred]))[:_CANDIDATES]
        documents = [
            f"{name}: {shape.deferred[name].description}"[:_LONGEST_DOCUMENT] for name in names
        ]
        question = {
            "model": self._model,
            "query": query,
            "documents": documents,
            "top_n": len(documents),
        }
        answer = await self._endpoint.ask(question, _Answer)
        known = [one for one in answer.results if 0 <= one.index < len(names)]
        known.sort(key=lambda one: -one.relevance_score)
        return [Hit(names[one.index], one.relevance_score) for one in known]
