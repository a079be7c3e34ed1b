"""The table of a live trial: one row for each task, catalog and route."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from bench.live.endpoint import Endpoint
from bench.live.trial import Row

_NUMBERS = ("right", "first prompt", "all tokens", "requests", "seconds", "est. USD")


def table(rows: Sequence[Row], endpoint: Endpoint) -> Table:
    """Medians of the attempts; the saving stands with the folded rows."""
    title = f"{endpoint.model}: {endpoint.repeats} attempts, medians"
    sheet = Table("tools", "task", "route", title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for heading in (*_NUMBERS, "first saved"):
        sheet.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        sheet.add_row(str(row.size), row.task, row.route, *_cells(row, endpoint), _saved(row, rows))
    return sheet


def _cells(row: Row, endpoint: Endpoint) -> Sequence[str]:
    cost = f"{row.cost(endpoint):.5f}" if endpoint.price_in or endpoint.price_out else "-"
    right = f"{row.right}/{len(row.attempts)}"
    first, tokens = f"{row.first_prompt():,.0f}", f"{row.tokens():,.0f}"
    return (right, first, tokens, f"{row.requests():g}", f"{row.seconds():.1f}", cost)


def _saved(row: Row, rows: Sequence[Row]) -> str:
    eager = [o for o in rows if (o.size, o.task, o.route) == (row.size, row.task, "eager")]
    before = eager[0].first_prompt() if eager and row.route == "folded" else 0
    return f"{1 - row.first_prompt() / before:.0%}" if before else ""


def print_refusals(rows: Sequence[Row], console: Console) -> None:
    """What the endpoint said where it did not take a request, once each."""
    said = {(row.size, row.route, one.refusal) for row in rows for one in row.attempts}
    for size, route, refusal in sorted(said):
        if refusal:
            console.print(f"{size} tools, {route}: {refusal[:300]}")
