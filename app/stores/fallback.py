"""A store that may be gone, with another for that time.

After a failure the first store is left alone for a while, so that only one request in that
time waits for it.
"""

from collections.abc import Callable, Sequence
from time import monotonic

import structlog

from app.stores import Store, StoreFailed

_REST = 5.0
"""Seconds for which a store that failed is not asked."""


class FallbackStore:
    """Never fails: what the first store cannot do, the second does."""

    def __init__(self, first: Store, second: Store, clock: Callable[[], float] = monotonic) -> None:
        self._first = first
        self._second = second
        self._clock = clock
        self._rests_until = 0.0
        self.is_degraded = False

    async def load(self, keys: Sequence[str]) -> list[bytes | None]:
        """The values of these keys, in order; what was kept while the first was gone too."""
        own = await self._second.load(keys)
        if not self._may_ask():
            return own
        try:
            found = await self._first.load(keys)
        except StoreFailed as failure:
            self._degrade(failure)
            return own
        self._recover()
        return [theirs or ours for theirs, ours in zip(found, own, strict=True)]

    async def save(self, key: str, value: bytes) -> None:
        """Keep a value, unless there is one."""
        if self._may_ask():
            try:
                await self._first.save(key, value)
            except StoreFailed as failure:
                self._degrade(failure)
            else:
                self._recover()
                return
        await self._second.save(key, value)

    async def aclose(self) -> None:
        """Let go of both."""
        await self._first.aclose()
        await self._second.aclose()

    def _may_ask(self) -> bool:
        return self._clock() >= self._rests_until

    def _degrade(self, failure: StoreFailed) -> None:
        self._rests_until = self._clock() + _REST
        if not self.is_degraded:
            self.is_degraded = True
            structlog.get_logger().warning("store_degraded", error=str(failure))

    def _recover(self) -> None:
        if self.is_degraded:
            self.is_degraded = False
            structlog.get_logger().warning("store_recovered")
