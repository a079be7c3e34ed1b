"""What is remembered of a turn: the rounds that the client never saw."""

from decimal import Decimal

import msgspec

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
    def found(self) -> list[str]:
        """The tools that its searches found."""
        last = [self.mixed] if self.mixed else []
        return [name for exchange in [*self.exchanges, *last] for name in exchange.shown]


_decoder = msgspec.json.Decoder(Record, float_hook=Decimal)
_encoder = msgspec.json.Encoder(decimal_format="number")


def dump(record: Record) -> bytes:
    """The record as bytes."""
    return _encoder.encode(record)


def load(raw: bytes) -> Record | None:
    """The record, or None for what is not one: a store may hold anything."""
    try:
        return _decoder.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None
