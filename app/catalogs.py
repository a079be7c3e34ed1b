"""The catalogs that are known, in a cache bounded in bytes."""

import asyncio
from collections import deque
from weakref import WeakValueDictionary

from cachetools import LRUCache

from app.core.catalog import Catalog, Count, compile_catalog
from app.core.dialect.catalog import script
from app.core.policy import Policy
from app.core.shape import Shape, compile_shape

MEMORY_PER_BYTE = 20
"""Bytes that a compiled catalog takes (tools, schemas, index) for each byte of its `tools`
array: 10 to 12 with 300 to 3,000 tools, and 13 to 20 once much has been searched
(`python -m bench.bounds`)."""
_AT_ONCE = 16_384
"""Bytes of a `tools` array that compile within 5 ms: larger ones leave the event loop."""

_LATEST = 8
"""`tools` arrays that a request is compared with before it is read."""

Key = tuple[bytes, Policy]


class Catalogs:
    """Compiles a content of `tools` once, however many requests bring it at a time.

    The key is the very bytes, so two catalogs can never be taken for one another. A catalog
    is shared by all policies and lives as long as a shape of it.
    """

    def __init__(self, count: Count, most_bytes: int) -> None:
        self._count = count
        self._shapes: LRUCache[Key, Shape] = LRUCache(most_bytes, getsizeof=_memory)
        self._catalogs: WeakValueDictionary[bytes, Catalog] = WeakValueDictionary()
        self.latest: deque[bytes] = deque(maxlen=_LATEST)
        """The `tools` arrays of the latest requests."""
        self._compiling: dict[Key, asyncio.Task[Shape]] = {}

    async def shape(self, tools: bytes, policy: Policy) -> Shape:
        """The shape of a raw `tools` array under a policy. Raises Malformed."""
        key = (tools, policy)
        known = self._shapes.get(key)
        if known is not None:
            self._remember(tools)
            return known
        task = self._compiling.get(key)
        if task is None:
            task = self._compiling[key] = asyncio.create_task(self._compile(key))
            task.add_done_callback(lambda _: self._compiling.pop(key))
        return await asyncio.shield(task)  # one client that hangs up does not stop the others

    def _remember(self, tools: bytes) -> None:
        if tools not in self.latest:
            self.latest.appendleft(tools)

    async def _compile(self, key: Key) -> Shape:
        tools, policy = key
        if len(tools) <= _AT_ONCE:
            shape = self._compiled(tools, policy)
        else:
            shape = await asyncio.to_thread(self._compiled, tools, policy)
        if _memory(shape) <= self._shapes.maxsize:
            self._shapes[key] = shape
        return shape

    def _compiled(self, tools: bytes, policy: Policy) -> Shape:
        catalog = self._catalogs.get(tools)
        if catalog is None:
            catalog = self._catalogs[tools] = compile_catalog(tools, self._count)
        return compile_shape(catalog, policy, self._count, script(policy.dialect))


def _memory(shape: Shape) -> int:
    return MEMORY_PER_BYTE * shape.catalog.size_in_bytes
