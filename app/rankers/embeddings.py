"""By meaning: the similarity of embeddings, fused with the lexical score."""

import asyncio
from collections.abc import Sequence
from weakref import WeakKeyDictionary

import structlog

from app.core.hits import Hit
from app.core.ranking.fusion import fuse
from app.core.shape import Shape
from app.core.tools import Tool
from app.rankers import RankerFailed
from app.rankers.vectors import Vectors, key_of

_log = structlog.get_logger()
_LONGEST_TEXT = 2_000
"""Characters of a tool or a query that are embedded: some 500 tokens, which every model takes."""


class Embeddings:
    """Any OpenAI-compatible `/v1/embeddings`. The tools of a shape are embedded once, off the
    request; a search that comes before that is done fails as `cold`."""

    name = "embeddings"

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._keys: WeakKeyDictionary[Shape, list[bytes]] = WeakKeyDictionary()
        self._warming: dict[Shape, asyncio.Task[None]] = {}

    async def prepare(self, shape: Shape) -> None:
        """Embed the tools of a shape. Raises RankerFailed."""
        texts = [_text(tool) for tool in shape.deferred.values()]
        keys = self._keys[shape] = [key_of(text) for text in texts]
        await self._vectors.load(dict(zip(keys, texts, strict=True)))

    def warm(self, shape: Shape) -> None:
        """The same in a task, for a shape that is new."""
        if shape not in self._keys:
            self._start(shape)

    async def rank(
        self, queries: Sequence[str], shape: Shape, lexical: Sequence[Sequence[Hit]]
    ) -> list[list[Hit]]:
        """Raises RankerFailed."""
        tools = self._vectors.known(self._keys.get(shape, ()))
        if tools is None:
            self._start(shape)
            raise RankerFailed("cold")
        texts = {key_of(query): query[:_LONGEST_TEXT] for query in queries}
        await self._vectors.load(texts)
        asked = self._vectors.known(list(texts))
        if asked is None or asked.shape[1] != tools.shape[1]:  # no room, or another model
            raise RankerFailed("cold")
        near = asked @ tools.T
        return [
            fuse(said, dict(zip(shape.deferred, row.tolist(), strict=True)))
            for said, row in zip(lexical, near, strict=True)
        ]

    async def aclose(self) -> None:
        """Stop what is under way."""
        for task in self._warming.values():
            task.cancel()
        await asyncio.gather(*self._warming.values(), return_exceptions=True)
        await self._vectors.aclose()

    def _start(self, shape: Shape) -> None:
        """One task a shape, however many ask for it."""
        if shape not in self._warming:
            task = self._warming[shape] = asyncio.create_task(self._warm(shape))
            task.add_done_callback(lambda _: self._warming.pop(shape))

    async def _warm(self, shape: Shape) -> None:
        try:
            await self.prepare(shape)
        except RankerFailed as failure:
            _log.warning("embedding_failed", why=failure.why, tools=len(shape.deferred))


def _text(tool: Tool) -> str:
    properties = tool.parameters.get("properties")
    arguments = ", ".join(properties) if isinstance(properties, dict) else ""
    words = tool.name.replace("_", " ")
    return f"{words}: {tool.description} ({arguments})"[:_LONGEST_TEXT]
