"""The memory of turns: records in a store, each tenant's and each key's apart."""

from collections.abc import Iterable
from hashlib import sha256

from app.core.memory import Record, dump, load
from app.http import Headers, is_credential
from app.stores import Store
from app.telemetry import log_fault


class Memory:
    """What one caller's turns have left behind."""

    def __init__(
        self, store: Store, headers: Headers, tenant: str = "", query: bytes = b""
    ) -> None:
        self._store = store
        self._owner = _owner(headers, query, tenant)

    async def recall(self, keys: Iterable[str | None]) -> dict[str, Record]:
        """The records under these keys, where there are any."""
        asked = list(dict.fromkeys(key for key in keys if key))
        if not asked:
            return {}
        try:
            found = await self._store.load([self._named(key) for key in asked])
        except Exception as error:  # promise: a dead store never fails a request
            log_fault("recall_failed", error)
            return {}
        loaded = ((key, load(raw)) for key, raw in zip(asked, found, strict=True) if raw)
        return {key: record for key, record in loaded if record is not None}

    async def remember(self, key: str, record: Record) -> None:
        """Keep a record."""
        try:
            await self._store.save(self._named(key), dump(record))
        except Exception as error:
            log_fault("remember_failed", error)

    def _named(self, key: str) -> str:
        """The key in the store: of one length, whatever a client sends."""
        return sha256(self._owner + key.encode("utf-8", "surrogatepass")).hexdigest()


def _owner(headers: Headers, query: bytes, tenant: str) -> bytes:
    """Whose records: the tenant and the whole hash of all that may be a credential."""
    given = {name + b"\0" + value for name, value in headers if is_credential(name)}
    return sha256(b"\0".join([tenant.encode(), query, *sorted(given)])).digest()
