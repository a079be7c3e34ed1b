"""`python -m bench.clients`: real clients through Toolfold. Prints, last, what passed."""

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from bench.clients.trial import STRATEGIES, trial

_NOTHING = """\
Skipped: CLIENTS_DIR is not set. Set it to a directory of client scripts that has upstream.py,
run_all.sh and results/eager.tsv (docs/clients.md says what they do), run its install.sh once, then:
  CLIENTS_DIR=... make clients"""


app = typer.Typer(add_completion=False)


@app.command()
def main(
    folder: Annotated[
        Path | None, typer.Option("--clients", envvar="CLIENTS_DIR", help="The client scripts.")
    ] = None,
    profile: Annotated[
        str, typer.Option(envvar="CLIENTS_PROFILE", help="The upstream's profile.")
    ] = "default",
    strategy: Annotated[
        list[str] | None, typer.Option(envvar="CLIENTS_STRATEGIES", help="Default: each.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(envvar="CLIENTS_ONLY", help="Clients; default: all.")
    ] = None,
    probes: Annotated[
        bool, typer.Option(envvar="CLIENTS_PROBES", help="Odd streams and retries, too.")
    ] = True,
) -> None:
    """Can unmodified clients do through Toolfold what they can do without it?"""
    if folder is None:
        print(_NOTHING)
        return
    passed = failed = 0
    for title, outcomes in trial(folder, profile, strategy or STRATEGIES, only or (), probes):
        good = Counter(outcome.client for outcome in outcomes if not outcome.failure)
        lost = Counter(outcome.client for outcome in outcomes if outcome.failure)
        for client in dict.fromkeys(outcome.client for outcome in outcomes):
            print(f"{title}, {profile}: {client}: {good[client]} passed, {lost[client]} failed")
        for outcome in outcomes:
            if outcome.failure:
                print(f"FAILED {title}: {outcome.client} {outcome.scenario}: {outcome.failure}")
        sys.stdout.flush()
        passed, failed = passed + good.total(), failed + lost.total()
    print(f"{passed} passed, {failed} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    app()
