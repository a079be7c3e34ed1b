"""Which tools fit a query.

words     text into comparable words
lexical   the default ranker: an inverted index over weighted fields
"""

from typing import Protocol


class Ranker(Protocol):
    """What ranks the tools of one catalog."""

    def rank(self, query: str) -> list[tuple[int, float]]:
        """Positions of the tools that match, best first, with their scores. Never raises."""
        ...
