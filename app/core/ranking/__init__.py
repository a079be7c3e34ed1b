"""Which tools fit a query.

words      text into comparable words
fields     what a tool says, and how much each part of it counts
postings   for each word the tools that say it, with all that can be worked out beforehand
related    other words for the same thing
spelling   words that no tool says, put right
families   the families that names say they belong to
lexical    the default ranker
bm25       the plain one, and the tests' oracle
"""

from typing import Protocol


class Ranker(Protocol):
    """Knows the tools of one catalog."""

    def rank(self, query: str) -> list[tuple[int, float]]:
        """Positions of the tools that match, best first, with their scores."""
