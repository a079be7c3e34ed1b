"""Try everything that the documentation shows: `make docs-check`, `python -m docs.check [PAGE]`.

Each page has a folder and an upstream of its own, and no network. Ends with 1 where a block is
not as its page says.
"""

import sys
import tempfile
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from docs.blocks import ROOT, blocks, pages
from docs.stage import REDIS, stage
from docs.trial import Outcome, attempt

_RESULTS = ("passed", "failed", "not run")


def check(page: str) -> list[Outcome]:
    """Try the blocks of one page. Raises ValueError for a page with a block that has no trial
    and no mark."""
    text = (ROOT / page).read_text()
    found = list(blocks(page, text))
    if not found:
        return []
    with tempfile.TemporaryDirectory() as folder, stage(Path(folder), redis=REDIS in text) as on:
        return list(attempt(found, on))


def main(chosen: list[str]) -> int:
    """Print a row a page, what failed, and what was not run and why."""
    console = Console(highlight=False)
    outcomes: list[Outcome] = []
    table = Table("page", *_RESULTS)
    for page in chosen or pages():
        tried = check(page)
        counted = Counter(one.result for one in tried)
        table.add_row(page, *(str(counted[result]) for result in _RESULTS))
        outcomes += tried
    console.print(table)
    for one in outcomes:
        if one.result != "passed":
            console.print(f"{one.result}: {one.block.where}: {escape(one.detail)}", soft_wrap=True)
    counted = Counter(one.result for one in outcomes)
    console.print(", ".join(f"{counted[result]} {result}" for result in _RESULTS))
    return 1 if counted["failed"] else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
