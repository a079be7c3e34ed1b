"""`python -m bench.retrieval DIR`: ask every ranker every query, print the tables."""

import gc
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.process import free_port, running
from bench.retrieval.queries import read_sets
from bench.retrieval.rankers import RANKERS
from bench.retrieval.report import as_json, show
from bench.retrieval.score import score

_URL = "TOOLFOLD_RANKER_URL"
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
    gc.freeze()  # as `toolfold serve` does: what is there already is not looked through again
    with _endpoint(chosen):
        scores = {s.name: {name: score(RANKERS[name], s) for name in chosen} for s in asked}
    if json_:
        print(json.dumps(as_json(scores), indent=2))
    else:
        show(scores, Console())


@contextmanager
def _endpoint(chosen: Sequence[str]) -> Iterator[None]:
    """The packaged model for `embeddings`, where no other endpoint is named."""
    if "embeddings" not in chosen or os.environ.get(_URL):
        yield
        return
    port = free_port()
    command = [sys.executable, "-m", "bench.minilm", str(port)]
    with running(command, port=port, path="/docs"):
        os.environ[_URL] = f"http://127.0.0.1:{port}/v1"
        yield


if __name__ == "__main__":
    app()
