"""Turns remembered in Redis, for replicas.

The driver's defaults wait 25 seconds for a server that is frozen; both limits are set here.
"""

from collections.abc import Sequence

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from app.stores import StoreFailed

_MOST_CONNECTIONS = 64
"""Further requests wait for one, as long as they would for the server."""
_PREFIX = "toolfold:"
_LARGEST = 1024 * 1024
"""A larger value is not ours, and is not written."""


class SharedStore:
    """One round trip to load, one to save. Raises StoreFailed: the server did not answer in
    `patience` seconds."""

    def __init__(self, url: str, ttl: float, patience: float) -> None:
        self._ttl = max(int(ttl), 1)
        pool = BlockingConnectionPool.from_url(
            url,
            timeout=patience,
            socket_timeout=patience,
            socket_connect_timeout=patience,
            retry=Retry(NoBackoff(), 0),
            max_connections=_MOST_CONNECTIONS,
        )
        self._redis = Redis.from_pool(pool)

    async def load(self, keys: Sequence[str]) -> list[bytes | None]:
        """The values of these keys, in order."""
        try:
            values = await self._redis.mget([_PREFIX + key for key in keys])
        except (RedisError, OSError) as error:
            raise StoreFailed(type(error).__name__) from error
        return [v if isinstance(v, bytes) and len(v) <= _LARGEST else None for v in values]

    async def save(self, key: str, value: bytes) -> None:
        """Keep a value, unless there is one or it is too large."""
        if len(value) > _LARGEST:
            return
        try:
            await self._redis.set(_PREFIX + key, value, nx=True, ex=self._ttl)
        except (RedisError, OSError) as error:
            raise StoreFailed(type(error).__name__) from error

    async def aclose(self) -> None:
        """Let go of every connection."""
        await self._redis.aclose()
