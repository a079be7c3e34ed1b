"""What has been learned of the upstream: for each model, for a while, in this process.

Every replica learns by itself, at the cost of one request a trait. A wrong lesson ends with
its time.
"""

from collections.abc import Callable
from time import monotonic

from cachetools import TTLCache

from app.core.traits import Traits

_MOST_MODELS = 1_000
_SECONDS = 3_600.0


class Learned:
    """The traits of one upstream."""

    def __init__(self, known: Traits, clock: Callable[[], float] = monotonic) -> None:
        self._known = known
        self._learned: TTLCache[str, Traits] = TTLCache(_MOST_MODELS, _SECONDS, timer=clock)

    def of(self, model: object) -> Traits:
        """What is known of the upstream and this model."""
        return self._learned.get(str(model), self._known)

    def learn(self, model: object, traits: Traits) -> None:
        """The upstream refused another form and took this one."""
        self._learned[str(model)] = traits
