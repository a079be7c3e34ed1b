"""`python -m bench.live`: measure the endpoint that the environment names."""

import os
import sys

from rich.console import Console

from app.demo.proxy import NotStarted
from bench.live.endpoint import Missing, Wrong, read
from bench.live.report import print_refusals, table
from bench.live.trial import Row, trial


def main() -> int:
    """0 when measured or when there is nothing to measure, 1 where Toolfold did not start, 2 for
    variables that cannot be read. A wrong answer is a result, not a failure."""
    console, status = Console(width=130, highlight=False), Console(stderr=True, highlight=False)
    try:
        endpoint = read(os.environ)
    except Missing as reason:
        console.print(f"Skipped: {reason}..")
        return 0
    except Wrong as reason:
        status.print(str(reason))
        return 2
    rows: list[Row] = []
    try:
        for row in trial(endpoint):
            rows.append(row)
            status.print(f"{row.size} tools, {row.task}, {row.route}: {row.right} right")
    except NotStarted as reason:
        status.print(str(reason))
        return 1
    console.print(table(rows, endpoint))
    print_refusals(rows, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
