"""The memory of turns: records in a store, each tenant's and each key's apart."""

from collections.abc import Iterable
from hashlib import sha256

from app.core.memory import Record, dump, load
from app.http import Headers
from app.stores import Store

_CREDENTIALS = (b"authorization", b"api-key", b"x-api-key", b"x-goog-api-key")


class Memory:
    """What one caller's turns have left behind."""

    def __init__(self, store: Store, headers: Headers, tenant: str = "") -> None:
        self._store = store
        self._owner = _owner(headers, tenant)

    async def recall(self, keys: Iterable[str | None]) -> dict[str, Record]:
        """The records under these keys, where there are any."""
        asked = list(dict.fromkeys(key for key in keys if key))
        if not asked:
            return {}
        found = await self._store.load([self._owner + key for key in asked])
        loaded = ((key, load(raw)) for key, raw in zip(asked, found, strict=True) if raw)
        return {key: record for key, record in loaded if record is not None}

    async def remember(self, key: str, record: Record) -> None:
        """Keep a record."""
        await self._store.save(self._owner + key, dump(record))


def _owner(headers: Headers, tenant: str) -> str:
    """Whose records: the tenant and the whole hash of the credential."""
    given = [name + b"\0" + value for name, value in headers if name in _CREDENTIALS]
    return sha256(b"\0".join([tenant.encode(), *sorted(given)])).hexdigest() + ":"
