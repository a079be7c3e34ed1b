"""Embeddings of texts: cached, asked for in batches."""

from collections.abc import Mapping, Sequence
from hashlib import sha256

import msgspec
import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from app.rankers import RankerFailed
from app.rankers.endpoint import Endpoint

Vector = NDArray[np.float32]
_BATCH = 32
"""Texts of one request: the least that a common server takes by default (TEI's
`--max-client-batch-size`)."""
_OVERHEAD = 500
"""Bytes of an entry beside its numbers, measured."""
_LONGEST = 16_384
"""Numbers of a vector; known models give 4,096 at most."""


class _Embedded(msgspec.Struct):
    index: int
    embedding: list[float]


class _Answer(msgspec.Struct):
    data: list[_Embedded]


class Vectors:
    """The vectors of texts under one model, of length 1, in a cache bounded in bytes."""

    def __init__(self, endpoint: Endpoint, model: str, most_bytes: int) -> None:
        self._endpoint = endpoint
        self._model = model
        self._known: LRUCache[bytes, Vector] = LRUCache(most_bytes, getsizeof=_memory)
        self._dimensions = 0

    def known(self, keys: Sequence[bytes]) -> NDArray[np.float32] | None:
        """One row for each key, None unless all of them are known."""
        found = [self._known.get(key) for key in keys]
        rows = [one for one in found if one is not None]
        return np.stack(rows) if rows and len(rows) == len(found) else None

    async def load(self, texts: Mapping[bytes, str]) -> None:
        """Get to know the texts under these keys. Raises RankerFailed."""
        new = [key for key in texts if key not in self._known]
        for start in range(0, len(new), _BATCH):
            batch = new[start : start + _BATCH]
            rows = await self._embed([texts[key] for key in batch])
            self._known.update(zip(batch, rows, strict=True))

    async def aclose(self) -> None:
        """Let go of every connection."""
        await self._endpoint.aclose()

    async def _embed(self, texts: list[str]) -> Vector:
        question = {"model": self._model, "input": texts, "encoding_format": "float"}
        answer = await self._endpoint.ask(question, _Answer)
        data = sorted(answer.data, key=lambda one: one.index)
        lengths = {len(one.embedding) for one in data}
        sound = [one.index for one in data] == list(range(len(texts))) and len(lengths) == 1
        if not sound or not 0 < max(lengths) <= _LONGEST:
            raise RankerFailed("malformed")
        rows = np.array([one.embedding for one in data], np.float32)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(norms).all():
            raise RankerFailed("malformed")
        if rows.shape[1] != self._dimensions:  # another model answers under the same name
            self._known.clear()
            self._dimensions = rows.shape[1]
        unit: Vector = rows / np.maximum(norms, np.finfo(np.float32).tiny)
        return unit


def key_of(text: str) -> bytes:
    """The key of a text."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def _memory(vector: Vector) -> int:
    return int(vector.nbytes) + _OVERHEAD
