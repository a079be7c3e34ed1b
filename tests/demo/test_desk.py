"""The tools really run, and their results cannot be known without running them."""

import json
import re

import pytest

from app.demo.desk import Desk
from app.demo.dialogue import DIALOGUE
from app.demo.tasks import TASKS, Task

TASKS_WITH_TOOLS = [*TASKS, *(task for task in DIALOGUE if task.stages and task not in TASKS)]
CASES = pytest.mark.parametrize("task", TASKS_WITH_TOOLS, ids=lambda task: task.title)


@CASES
def test_the_same_books_give_the_same_results(task: Task) -> None:
    assert task.truth(Desk(7).run) == task.truth(Desk(7).run)


@CASES
def test_no_two_desks_agree_on_a_result(task: Task) -> None:
    for one, other in zip(task.truth(Desk(7).run), task.truth(Desk(8).run), strict=True):
        assert one != other


@CASES
def test_no_step_fails(task: Task) -> None:
    assert not any("error" in output for output in task.truth(Desk(7).run))


def test_a_conversion_uses_the_rate_it_reports() -> None:
    result = json.loads(
        Desk(7).run("fxConvertAmount", {"amount": 250, "source": "EUR", "target": "JPY"})
    )
    assert float(result["converted"].removesuffix(" JPY")) == float(result["rate"]) * 250


def test_a_parcel_is_tracked_by_the_number_that_was_found() -> None:
    desk = Desk(7)
    found = json.loads(desk.run("parcel-find-by-order", {"order": "SO-1042"}))
    scan = json.loads(desk.run("parcel-track-scans", {"tracking_number": found["tracking_number"]}))
    assert scan["tracking_number"] == found["tracking_number"]
    assert re.fullmatch(r"\d\d:\d\d", scan["scanned_at"])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ledger_get_balance", {"account": "9999"}),
        ("ledger_get_balance", {}),
        ("ledger_get_balance", {"account": "4100", "colour": "red"}),
        ("fxConvertAmount", {"amount": "much", "source": "EUR", "target": "JPY"}),
        ("weather_get_current", {"place": "Oslo"}),
    ],
    ids=["unknown account", "missing argument", "extra argument", "no number", "no such tool"],
)
def test_mistakes_are_results(name: str, arguments: dict[str, object]) -> None:
    assert name in json.loads(Desk(7).run(name, arguments))["error"]
