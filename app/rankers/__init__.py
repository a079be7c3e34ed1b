"""What ranks the tools for a search: the local rankers, or an endpoint with `lexical` in its
place whenever it does not answer.

    endpoint    one question to an HTTP endpoint, or the reason why there is no answer
    vectors     embeddings of texts, cached, asked for in batches
    embeddings  by meaning, fused with the lexical score
    rerank      by a rerank endpoint
    plain       by any HTTP service
    rankers     the ranker that a policy names, its stand-in, and what both said
"""

from collections.abc import Sequence
from typing import Literal, Protocol

from app.core.hits import Hit
from app.core.shape import Shape

Why = Literal[
    "cold", "malformed", "not-configured", "nothing-found", "refused", "timeout", "unreachable"
]
"""Why a remote ranker is not served."""


class RankerFailed(Exception):
    """A remote ranker has no answer."""

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why: Why = why


class Remote(Protocol):
    """A ranker that asks an endpoint."""

    name: str

    async def rank(
        self, queries: Sequence[str], shape: Shape, lexical: Sequence[Sequence[Hit]]
    ) -> list[list[Hit]]:
        """For each query the deferred tools that match, best first. `lexical`: what that
        ranker says. Raises RankerFailed."""
        ...

    async def prepare(self, shape: Shape) -> None:
        """Prepare for the searches of a shape. Raises RankerFailed."""
        ...

    def warm(self, shape: Shape) -> None:
        """The same, without waiting, for a shape that has come into use."""
        ...

    async def aclose(self) -> None:
        """Let go of every connection."""
        ...
