"""The words under the tables follow from the numbers in them."""

import io

from rich.console import Console

from app.demo.conversation import Conversation
from app.demo.measure import Comparison, Run
from app.demo.report import conclusion, succeeded, table, verdict
from app.demo.tasks import TASKS
from app.demo.upstream import Record


def runs(*tokens: int, right: bool = True, size: int = 900) -> tuple[Run, ...]:
    """One run whose requests had these prompt tokens."""
    records = tuple(Record(200, size + count, 5, count) for count in tokens)
    return (Run(TASKS[0], stream=False, records=records, right=right),)


def comparison(plain: tuple[Run, ...], folded: tuple[Run, ...]) -> Comparison:
    return Comparison(size=300, plain=plain, folded=folded)


PAYS = comparison(runs(1000, 1000), runs(100, 120, 180))
LITTLE = comparison(runs(1000, 1000), runs(500, 600, 700))
COSTS = comparison(runs(1000), runs(500, 600))
NOTHING = comparison(runs(1000, 1000), runs(1000, 1000))


def test_a_large_saving() -> None:
    said = conclusion(PAYS)
    assert said.startswith("Folding pays here. The first request has 90% fewer")
    assert "take 400 instead of 2,000, 80% fewer" in said
    assert "3 upstream requests instead of 2." in said
    assert said.endswith("2 of 2 answers contain what the tools really returned.")


def test_a_small_saving() -> None:
    assert conclusion(LITTLE).startswith("Folding does little here.")


def test_a_loss() -> None:
    said = conclusion(COSTS)
    assert said.startswith("Folding costs more than it saves here.")
    assert "10% more" in said


def test_nothing_changed() -> None:
    assert conclusion(NOTHING).startswith("Folding does nothing here.")


def test_success_needs_the_goal_and_every_answer() -> None:
    wrong = comparison(runs(1000), runs(1000, right=False))
    assert succeeded(PAYS, NOTHING)
    assert verdict(PAYS, NOTHING).startswith("Goal met")
    assert not succeeded(LITTLE, NOTHING)
    assert "50.0% saved" in verdict(LITTLE, NOTHING)
    assert not succeeded(PAYS, wrong)
    assert "some answers are wrong" in verdict(PAYS, wrong)


def test_success_needs_the_answers_of_every_conversation() -> None:
    right, wrong = (Conversation("wrap", (), asked=2, answers_right=n) for n in (2, 1))
    assert succeeded(PAYS, conversations=[right])
    assert not succeeded(PAYS, conversations=[right, wrong])
    assert verdict(PAYS, conversations=[right]).startswith("Goal met")
    assert "conversation with `wrap` some answers are wrong" in verdict(PAYS, conversations=[wrong])


def test_the_table_fits_100_columns_and_cuts_nothing() -> None:
    heavy = comparison(runs(54_321, 154_321, size=252_000), runs(4_321, 4_444))
    page = io.StringIO()
    Console(file=page, width=100).print(table(heavy))
    shown = page.getvalue()
    assert "\x1b" not in shown
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown
    for cell in ("one tool", "306,321", "54,321", "208,642", "8,765", "right"):
        assert cell in shown
