"""`make live` against the demo's scripted model: it counts right, and skips where it should."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse

from app.demo.desk import Desk
from app.demo.loopback import serving
from app.demo.tasks import TASKS
from app.demo.upstream import Upstream
from app.tokens import load_counter
from bench.live.agent import is_right
from bench.live.endpoint import Endpoint, Missing, Wrong, read
from bench.live.trial import Row, trial

ROOT = Path(__file__).parents[2]
WHERE = {"LIVE_BASE_URL": "http://127.0.0.1:9/v1/", "LIVE_MODEL": "m"}


def test_the_environment_says_where() -> None:
    more = {"LIVE_SIZES": "5,9", "LIVE_FLAGS": "--strategy wrap", "LIVE_PRICE_IN": "0.4"}
    endpoint = read(WHERE | more)
    assert endpoint.base_url == "http://127.0.0.1:9/v1"
    assert (endpoint.sizes, endpoint.flags) == ((5, 9), ("--strategy", "wrap"))
    assert endpoint.cost(1_000_000, 5) == pytest.approx(0.4)


@pytest.mark.parametrize("given", [{}, {"LIVE_BASE_URL": "x"}, {"LIVE_MODEL": "m"}])
def test_without_an_endpoint_there_is_nothing_to_measure(given: dict[str, str]) -> None:
    with pytest.raises(Missing):
        read(given)


def test_a_variable_that_cannot_be_read_is_named() -> None:
    with pytest.raises(Wrong, match="LIVE_SIZES"):
        read(WHERE | {"LIVE_SIZES": "many"})


@pytest.mark.parametrize(("given", "code"), [({}, 0), (WHERE | {"LIVE_REPEATS": "x"}, 2)])
def test_the_command_skips_or_says_what_is_wrong(given: dict[str, str], code: int) -> None:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("LIVE_")}
    ran = subprocess.run(
        [sys.executable, "-m", "bench.live"],
        cwd=ROOT,
        env=clean | given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == code
    assert ("Skipped" in ran.stdout) == (code == 0)


def answers(task: Any, run: Any) -> str:
    return " ".join(task.truth(run))


@pytest.mark.parametrize("task", TASKS, ids=[task.title for task in TASKS])
def test_an_answer_is_right_if_it_says_what_the_tools_said(task: Any) -> None:
    run, other = Desk(1).run, Desk(2).run
    assert is_right(task, answers(task, run), run)
    assert not is_right(task, answers(task, other), run)
    assert not is_right(task, "I cannot do that.", run)


def test_numbers_may_be_written_in_any_way() -> None:
    run = Desk(1).run
    balance = json.loads(run("ledger_get_balance", {"account": "4100"}))["balance"].split()[0]
    written = f"{abs(float(balance)):,.2f}"
    assert is_right(TASKS[0], f"Account 4100 stands at \u2212\u20ac{written}.", run)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    model = Upstream(load_counter(), max_tools=None)
    with serving(model) as url:
        return list(trial(Endpoint(f"{url}/v1", "m", sizes=(41,), repeats=2)))


def test_every_task_is_tried_both_ways_and_right(rows: list[Row]) -> None:
    assert [(row.task, row.route) for row in rows] == [
        (task.title, route) for task in TASKS for route in ("eager", "folded")
    ]
    assert all((row.right, len(row.attempts)) == (2, 2) for row in rows)


def test_what_the_model_is_billed_for_is_counted(rows: list[Row]) -> None:
    for eager, folded in zip(rows[::2], rows[1::2], strict=True):
        assert 0 < folded.first_prompt() < eager.first_prompt() / 2
        assert folded.requests() > eager.requests()
        assert eager.tokens() > folded.tokens() > folded.first_prompt()


def test_a_refusal_is_a_result() -> None:
    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        error = {"error": {"message": "too many tools", "code": None}}
        await JSONResponse(error, 400)(scope, receive, send)

    with serving(refuse) as url:
        found = list(trial(Endpoint(f"{url}/v1", "m", sizes=(41,), repeats=1, tasks=1)))
    assert [row.attempts[0].refusal for row in found if row.route == "eager"] != [""]
    assert not any(row.right for row in found)


def test_a_model_that_is_not_to_be_had_is_no_failure(tmp_path: Path) -> None:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PIP_")}
    nowhere = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "LIVE_FOLDER": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-m", "bench.live.local"],
        cwd=ROOT,
        env=clean | nowhere,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, "Skipped" in ran.stdout) == (0, True)
