"""A store that may be gone, with another for that time."""

from collections.abc import Sequence

import structlog

from app.breaker import Breaker
from app.stores import Store, StoreFailed


class FallbackStore:
    """Never fails: what the first store cannot do, the second does."""

    def __init__(self, first: Store, second: Store, breaker: Breaker) -> None:
        self._first = first
        self._second = second
        self._breaker = breaker

    @property
    def is_degraded(self) -> bool:
        """The first store failed when it was asked last."""
        return self._breaker.is_open

    async def load(self, keys: Sequence[str]) -> list[bytes | None]:
        """The values of these keys, in order; what was kept while the first was gone too."""
        own = await self._second.load(keys)
        if not self._breaker.may_ask():
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
        if self._breaker.may_ask():
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

    def _degrade(self, failure: StoreFailed) -> None:
        if self._breaker.failed():
            structlog.get_logger().warning("store_degraded", error=str(failure))

    def _recover(self) -> None:
        if self._breaker.worked():
            structlog.get_logger().warning("store_recovered")
