"""A server that failed is left alone for a while, so that only one request in that time waits
for it."""

from collections.abc import Callable
from time import monotonic

_REST = 5.0
"""Seconds for which a server that failed is not asked."""


class Breaker:
    """Whether a server may be asked, by how it answered last."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._rests_until = 0.0
        self.is_open = False
        """The server failed the last time that it was asked."""

    def may_ask(self) -> bool:
        """Whether its rest is over."""
        return self._clock() >= self._rests_until

    def failed(self) -> bool:
        """Let it rest. Returns whether this is news."""
        was_open, self.is_open = self.is_open, True
        self._rests_until = self._clock() + _REST
        return not was_open

    def worked(self) -> bool:
        """Take note. Returns whether this is news."""
        was_open, self.is_open = self.is_open, False
        return was_open
