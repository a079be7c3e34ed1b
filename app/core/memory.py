"""What is remembered of a turn: the rounds that the client never saw."""

from decimal import Decimal

import msgspec

from app.core.codec import decode, encode
from app.core.exchange import Exchange


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """A turn's exchanges, to be put back before the message that the turn ended with."""

    exchanges: list[Exchange] = []
    promoted: list[str] = []
    """The tools that the turn declared, in order."""
    spoken: str = ""
    """Words that the client was told before the last round: they stand at the head of its
    message, and in the exchanges."""
    mixed: Exchange | None = None
    """The last round, where it held searches beside the client's calls."""

    @property
    def found(self) -> dict[str, dict[str, int]]:
        """The tools that its searches found, each with the rank that every ranker gave it."""
        last = [self.mixed] if self.mixed else []
        return {n: ranks for one in [*self.exchanges, *last] for n, ranks in one.found.items()}


def dump(record: Record) -> bytes:
    """The record as bytes."""
    return encode(msgspec.to_builtins(record, builtin_types=(Decimal,)))


def load(raw: bytes) -> Record | None:
    """The record, or None for what is not one: a store may hold anything."""
    try:
        record = msgspec.convert(decode(raw), Record)
    except (ValueError, RecursionError):
        return None
    rounds = [*record.exchanges, *([record.mixed] if record.mixed else [])]
    return record if all(one.is_sound for one in rounds) else None
