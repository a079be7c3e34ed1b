"""A row of numbers, one per round, and what two rows say of each other.

Rows are compared round by round: what slowed one row down in a round slowed the other one too.
"""

from dataclasses import dataclass, field
from statistics import median

CONNECTIONS = (1, 16)

Series = dict[int, list[float]]
"""By number of connections: a value per round."""


def _series() -> Series:
    return {connections: [] for connections in CONNECTIONS}


@dataclass
class Row:
    """What was measured of one target."""

    latency: Series = field(default_factory=_series)
    """Milliseconds, the median of each batch."""
    throughput: Series = field(default_factory=_series)
    """Requests a second."""
    chunks: Series = field(default_factory=_series)
    """Streamed chunks a second, over all connections."""
    resident: int = 0
    """Bytes in memory after all that."""


def ratio(values: Series, base: Series, connections: int) -> float:
    """How many times the base, at the median."""
    return median(a / b for a, b in zip(values[connections], base[connections], strict=True))


def added(values: Series, base: Series, connections: int) -> float:
    """How much more than the base, at the median."""
    return median(a - b for a, b in zip(values[connections], base[connections], strict=True))
