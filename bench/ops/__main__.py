"""Run the checks and print what is right and what is."""

import asyncio
import importlib
import json
import re
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.ops.check import CHECKS, Check, Outcome

GROUPS = (
    *("edge", "bodies", "streams", "failure", "lifecycle", "state", "trust", "telemetry", "text"),
)
_COLOURS = {"ok": "green", "WRONG": "bold red", "LATE": "red", "not run": "yellow"}


def checks() -> list[Check]:
    """Every check, by number."""
    for group in GROUPS:
        importlib.import_module(f"bench.ops.{group}")
    return sorted(CHECKS, key=lambda one: int(one.id[1:]))


def main(
    only: Annotated[str, typer.Option(help="Ids, with commas: C1,C33 or C1-C14.")] = "",
    plain: Annotated[bool, typer.Option("--plain", help="Leave out what needs a package.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not a table.")] = False,
) -> None:
    """Check a running Toolfold, check by check. Ends with 1 where something is wrong."""
    chosen = [one for one in checks() if _is_chosen(one, only) and not (plain and one.packages)]
    outcomes = asyncio.run(run(chosen, Console(stderr=True)))
    if as_json:
        print(json.dumps([_row(outcome) for outcome in outcomes], indent=2))
    else:
        _print(outcomes, Console(width=None if sys.stdout.isatty() else 200))
    passed = sum(outcome.verdict == "ok" for outcome in outcomes)
    left = [outcome.check.id for outcome in outcomes if outcome.verdict == "not run"]
    failed = len(outcomes) - passed - len(left)
    if left:
        print(f"not run: {', '.join(left)}")
    print(f"{passed} passed, {failed} failed")
    raise typer.Exit(1 if failed else 0)


async def run(chosen: list[Check], status: Console) -> list[Outcome]:
    """Their outcomes, one after the other: a check that measures wants the machine."""
    outcomes = []
    for one in chosen:
        outcome = await one.outcome()
        status.print(f"{one.id:4} {outcome.verdict:8} {escape(outcome.actual)}", soft_wrap=True)
        outcomes.append(outcome)
    return outcomes


def _is_chosen(one: Check, only: str) -> bool:
    number = int(one.id[1:])
    for part in filter(None, only.split(",")):
        first, *last = (int(found) for found in re.findall(r"\d+", part))
        if first <= number <= (last[0] if last else first):
            return True
    return not only


def _row(outcome: Outcome) -> dict[str, str]:
    one = outcome.check
    return {
        **{"id": one.id, "what": one.what, "right": one.right},
        **{"actual": outcome.actual, "verdict": outcome.verdict},
    }


def _print(outcomes: list[Outcome], console: Console) -> None:
    table = Table("id", "what", "right outcome", "actual outcome", "")
    for outcome in outcomes:
        colour = _COLOURS[outcome.verdict]
        one = outcome.check
        cells = (one.id, one.what, one.right, outcome.actual)
        table.add_row(*map(escape, cells), f"[{colour}]{outcome.verdict}[/]")
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
