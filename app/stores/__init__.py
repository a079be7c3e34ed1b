"""Where turns are remembered. A store is a place for bytes under keys: it may forget at any
time, it may be gone, and it never fails a request.

    memory    in this process, bounded in bytes and entries
    shared    in Redis, for replicas
    fallback  a store that may be gone, with another for that time
"""

from collections.abc import Sequence
from typing import Protocol


class Store(Protocol):
    """Bytes under keys, written once, never changed, gone after a while."""

    async def load(self, keys: Sequence[str]) -> list[bytes | None]:
        """The values of these keys, in order, in one round trip."""
        ...

    async def save(self, key: str, value: bytes) -> None:
        """Keep a value, unless there is one."""
        ...

    async def aclose(self) -> None:
        """Let go of every connection."""
        ...


class StoreFailed(Exception):
    """The store did not answer, or not in time."""


class NoStore:
    """Remembers nothing: every request is served from its own history."""

    async def load(self, keys: Sequence[str]) -> list[bytes | None]:
        return [None] * len(keys)

    async def save(self, key: str, value: bytes) -> None:
        return

    async def aclose(self) -> None:
        return
