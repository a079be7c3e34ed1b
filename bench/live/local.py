"""`python -m bench.live.local`: a real model on a real server, on this machine.

A model this small says what it likes. So the protocol is asserted and never an answer: every
request is taken, through Toolfold as without it.
"""

import os
import sys
from pathlib import Path

from rich.console import Console

from app.demo.proxy import NotStarted
from bench.live.endpoint import Endpoint
from bench.live.model import NotToBeHad, fetch, serving
from bench.live.report import print_refusals, table
from bench.live.trial import trial

_FLAGS = ("--mode", "on", "--upstream-profile", "llamacpp", "--manifest-tokens", "500")


def main() -> int:
    """0 where the protocol holds or there is no model to be had, 1 where it does not."""
    console = Console(width=130, highlight=False)
    folder = Path(os.environ.get("LIVE_FOLDER") or Path.home() / ".cache" / "toolfold-live")
    try:
        model, python = fetch(folder)
        with serving(model, python) as url:
            where = Endpoint(url, "local", sizes=(14,), repeats=1, tasks=1, flags=_FLAGS)
            rows = list(trial(where))
    except NotToBeHad as reason:
        console.print(f"Skipped: {reason}.")
        return 0
    except NotStarted as reason:
        console.print(str(reason))
        return 1
    console.print(table(rows, where))
    print_refusals(rows, console)
    taken = [one.status == 200 for row in rows for each in row.attempts for one in each.billed]
    return 0 if taken and all(taken) else 1


if __name__ == "__main__":
    sys.exit(main())
