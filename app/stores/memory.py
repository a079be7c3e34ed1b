"""Turns remembered in this process."""

from collections.abc import Callable, Sequence
from time import monotonic

from cachetools import TTLCache

_OVERHEAD = 400
"""Bytes that an entry takes besides its key and its value, measured."""


class MemoryStore:
    """Bounded in bytes and entries; what was used longest ago goes first."""

    def __init__(
        self, most_bytes: int, most_entries: int, ttl: float, clock: Callable[[], float] = monotonic
    ) -> None:
        self._most_entries = most_entries
        self._entries: TTLCache[str, bytes] = TTLCache(
            most_bytes, ttl, timer=clock, getsizeof=lambda value: len(value) + _OVERHEAD
        )

    def __len__(self) -> int:
        return len(self._entries)

    async def load(self, keys: Sequence[str]) -> list[bytes | None]:
        """The values of these keys, in order."""
        return [self._entries.get(key) for key in keys]

    async def save(self, key: str, value: bytes) -> None:
        """Keep a value, unless there is one or it is larger than the store."""
        if key in self._entries or len(value) + _OVERHEAD > self._entries.maxsize:
            return
        while len(self._entries) >= self._most_entries:
            self._entries.popitem()
        self._entries[key] = value

    async def aclose(self) -> None:
        """Nothing to let go of."""
