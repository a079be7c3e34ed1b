"""The show: three catalogs of falling size, and a conversation over the largest, measured and
explained one after the other."""

import secrets
from collections.abc import Sequence

from rich.console import Console
from rich.status import Status

from app.demo import caching
from app.demo.conversation import Conversation, conversations
from app.demo.measure import Comparison, compare, refused
from app.demo.report import OPENING, conclusion, over_limit, succeeded, table, verdict
from app.demo.routes import Routes, routes
from app.tokens import load_counter

LARGE, MEDIUM, SMALL = 300, 41, 12


def show(console: Console) -> bool:
    """Print everything; true if every answer is right and the large catalog meets the goal."""
    console.print(OPENING, end="\n\n")
    seed = secrets.randbits(32)
    count = load_counter()
    with routes(count) as ways:
        if refusal := refused(LARGE, ways.strict):
            console.print(over_limit(LARGE, refusal), end="\n\n")
        shown = [_shown(console, ways, size=size, seed=seed) for size in (LARGE, MEDIUM, SMALL)]
    with _working("holding conversations"):
        held = conversations(LARGE, count, seed=seed)
    _show_conversations(console, held)
    console.print(verdict(*shown, conversations=held))
    return succeeded(*shown, conversations=held)


def _shown(console: Console, ways: Routes, *, size: int, seed: int) -> Comparison:
    with _working(f"asking with {size} tools, with Toolfold and without"):
        comparison = compare(size, plain=ways.lifted, folded=ways.folded, seed=seed)
    console.print(table(comparison))
    console.print(conclusion(comparison), end="\n\n")
    return comparison


def _show_conversations(console: Console, held: Sequence[Conversation]) -> None:
    console.print(caching.opening(held[0].asked, LARGE), end="\n\n")
    console.print(caching.table(held))
    console.print(caching.conclusion(held), end="\n\n")


def _working(what: str) -> Status:
    """Shown on a terminal until it is done; elsewhere nothing is."""
    return Console(stderr=True).status(what)
