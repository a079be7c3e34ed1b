"""What can be asked, by the name that `--ranker` takes."""

from collections.abc import Callable, Sequence

from app.core.ranking import Ranker
from app.core.ranking.bm25 import Bm25
from app.core.ranking.lexical import Index
from app.core.tools import Tool

Factory = Callable[[Sequence[Tool]], Ranker]

RANKERS: dict[str, Factory] = {"lexical": Index, "bm25": Bm25}
