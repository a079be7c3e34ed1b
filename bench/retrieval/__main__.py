"""`python -m bench.retrieval DIR`: ask every ranker every query, print the tables."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.retrieval.queries import read_sets
from bench.retrieval.rankers import RANKERS
from bench.retrieval.report import as_json, show
from bench.retrieval.score import score

app = typer.Typer()


@app.command()
def main(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="Of query sets.")],
    ranker: Annotated[list[str] | None, typer.Option(help="May be given again.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON, not tables.")] = False,
) -> None:
    """Measure how well searches find the right tools."""
    chosen = ranker or ["lexical"]
    if unknown := [name for name in chosen if name not in RANKERS]:
        raise typer.BadParameter(f"no ranker `{unknown[0]}` among {', '.join(RANKERS)}")
    try:
        asked = read_sets(folder)
    except ValueError as reason:
        raise typer.BadParameter(str(reason)) from None
    if not asked:
        raise typer.BadParameter(f"no *.json in {folder}")
    scores = {s.name: {name: score(RANKERS[name], s) for name in chosen} for s in asked}
    if json_:
        print(json.dumps(as_json(scores), indent=2))
    else:
        show(scores, Console())


if __name__ == "__main__":
    app()
