"""The tables: what a person reads, and the same as JSON."""

from dataclasses import asdict
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from bench.retrieval.score import QUALITY, Score, macro

Scores = dict[str, dict[str, Score]]
"""By query set, then by ranker."""

_HEADINGS = ("R@1", "R@5", "R@10", "hit@5", "nDCG", "MRR", "build", "p50", "p95")
_NOTE = "R: recall. build, p50 and p95 of a query: milliseconds of CPU time."


def as_json(scores: Scores) -> dict[str, Any]:
    return {
        "macro": {ranker: asdict(score) for ranker, score in _macro(scores).items()},
        "sets": {
            name: {ranker: asdict(score) for ranker, score in by_ranker.items()}
            for name, by_ranker in scores.items()
        },
    }


def show(scores: Scores, console: Console) -> None:
    for name, by_ranker in {**scores, f"macro, {len(scores)} sets": _macro(scores)}.items():
        table = Table(title=name, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
        table.add_column("", min_width=10)
        for heading in _HEADINGS:
            table.add_column(heading, justify="right")
        for ranker, score in by_ranker.items():
            cells = asdict(score).items()
            table.add_row(
                ranker, *(f"{x:{'.3f' if key in QUALITY else '.2f'}}" for key, x in cells)
            )
        console.print(table)
    console.print(_NOTE)


def _macro(scores: Scores) -> dict[str, Score]:
    by_ranker: dict[str, list[Score]] = {}
    for of_set in scores.values():
        for ranker, score in of_set.items():
            by_ranker.setdefault(ranker, []).append(score)
    return {ranker: macro(found) for ranker, found in by_ranker.items()}
