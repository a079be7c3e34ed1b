"""`python -m bench`: start every row's server, measure them in turn, print the tables."""

import asyncio
import json
import signal
import sys
from contextlib import ExitStack
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from bench.load import WrongReply
from bench.process import NotStarted
from bench.report import Report
from bench.target import PROXIES, NotInstalled, Target, upstream
from bench.trial import trial


def main(
    seconds: Annotated[float, typer.Option(min=0.05, max=10, help="Of one batch.")] = 0.4,
    rounds: Annotated[int, typer.Option(min=1, max=50, help="Batches of each kind.")] = 6,
    rows: Annotated[str, typer.Option(help="Beside `direct`, with commas.")] = ",".join(PROXIES),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not tables.")] = False,
) -> None:
    """Measure what Toolfold costs, side by side with no proxy and with other proxies."""
    report = Report(seconds, rounds)
    status = Console(stderr=True)
    with ExitStack() as running:
        signal.signal(signal.SIGTERM, _leave)
        targets = _start(_chosen(rows), report, running, status)
        try:
            report.rows = asyncio.run(
                trial(targets, seconds=seconds, rounds=rounds, tell=status.print)
            )
        except WrongReply as wrong:
            sys.exit(str(wrong))
    if as_json:
        print(json.dumps(report.as_json(), indent=2))
    else:
        report.print(Console())


def _chosen(rows: str) -> list[str]:
    names = rows.split(",")
    if unknown := set(names) - set(PROXIES) - {"direct"}:
        raise typer.BadParameter(f"no row `{'`, `'.join(unknown)}` among {', '.join(PROXIES)}")
    return [name for name in PROXIES if name in names]


def _start(
    names: list[str], report: Report, running: ExitStack, status: Console
) -> dict[str, Target]:
    targets = {"direct": running.enter_context(upstream())}
    for name in names:
        status.print(f"starting {name}")
        try:
            targets[name] = running.enter_context(PROXIES[name](targets["direct"].port))
        except (NotInstalled, NotStarted) as reason:
            report.skipped[name] = str(reason)
    return targets


def _leave(signum: int, frame: FrameType | None) -> None:
    """Leave as if at the end, so that every server that was started is stopped."""
    sys.exit(128 + signum)


if __name__ == "__main__":
    typer.run(main)
