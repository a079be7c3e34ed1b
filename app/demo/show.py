"""The show: three catalogs of falling size, measured and explained one after the other."""

import secrets

from rich.console import Console

from app.demo.measure import Comparison, compare, refused
from app.demo.report import OPENING, conclusion, over_limit, succeeded, table, verdict
from app.demo.routes import Routes, routes
from app.tokens import load_counter

LARGE, MEDIUM, SMALL = 300, 41, 12


def show(console: Console) -> bool:
    """Print everything; true if every answer is right and the large catalog meets the goal."""
    console.print(OPENING, end="\n\n")
    seed = secrets.randbits(32)
    with routes(load_counter()) as ways:
        if refusal := refused(LARGE, ways.strict):
            console.print(over_limit(LARGE, refusal), end="\n\n")
        shown = [_shown(console, ways, size=size, seed=seed) for size in (LARGE, MEDIUM, SMALL)]
    console.print(verdict(*shown))
    return succeeded(*shown)


def _shown(console: Console, ways: Routes, *, size: int, seed: int) -> Comparison:
    comparison = compare(size, plain=ways.lifted, folded=ways.folded, seed=seed)
    console.print(table(comparison))
    console.print(conclusion(comparison), end="\n\n")
    return comparison
