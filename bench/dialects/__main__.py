"""`python -m bench.dialects`: the acceptance of the dialects. Prints, last, what passed."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from bench.dialects import clients, model, scenarios
from bench.dialects.scenarios import Outcome


def main(
    folder: Annotated[
        Path | None,
        typer.Option("--clients", envvar="DIALECTS_CLIENTS", help="Client scripts to run instead."),
    ] = None,
    url: Annotated[
        str, typer.Option("--model-url", envvar="DIALECTS_MODEL_URL", help="A real model's API.")
    ] = "",
    name: Annotated[str, typer.Option("--model", envvar="DIALECTS_MODEL")] = "default",
    tasks: Annotated[
        int, typer.Option(min=1, max=12, envvar="DIALECTS_TASKS", help="Tasks for the model.")
    ] = 12,
) -> None:
    """Do apps get real tool calls from a model that only writes text?"""
    passed = failed = 0
    for outcome in _outcomes(folder, url, name, tasks):
        passed += not outcome.failure
        failed += bool(outcome.failure)
        if outcome.failure:
            print(f"FAILED {outcome.name}: {outcome.failure}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(bool(failed))


def _outcomes(folder: Path | None, url: str, name: str, tasks: int) -> Iterator[Outcome]:
    yield from clients.outcomes(folder) if folder else scenarios.outcomes()
    if not url:
        return
    calls: dict[str, int] = {}
    for row in model.rows(url, name, tasks):
        print(row, flush=True)
        calls[row.dialect] = calls.get(row.dialect, 0) + row.calls
    better = calls["json_tag"] > calls["native"]
    yield Outcome("the model calls in json_tag", "" if better else f"calls: {calls}")


if __name__ == "__main__":
    typer.run(main)
