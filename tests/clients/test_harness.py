"""A run of client scripts, held against one without Toolfold."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench.clients.__main__ import app
from bench.clients.harness import Outcome, compared, eager

KEY = ("c", "basic")
PASSED = [Outcome(*KEY)]

COMPARED: dict[str, tuple[str, str, list[Outcome]]] = {
    "passes as before": ("PASS", "PASS", PASSED),
    "passes now": ("FAIL", "PASS", PASSED),
    "passes, and is new": ("", "PASS", PASSED),
    "fails": ("PASS", "FAIL", [Outcome(*KEY, "FAIL why")]),
    "fails as before": ("FAIL", "FAIL", []),
    "fails, and is new": ("", "FAIL", [Outcome(*KEY, "FAIL why")]),
    "fails where it was skipped": ("SKIP", "FAIL", [Outcome(*KEY, "FAIL why")]),
    "its environment is missing": ("", "MISSING", [Outcome(*KEY, "MISSING why")]),
    "is skipped as before": ("SKIP", "SKIP", []),
    "is skipped now": ("PASS", "SKIP", [Outcome(*KEY, "SKIP why")]),
    "is not run": ("PASS", "", [Outcome(*KEY, "NOT RUN")]),
    "is not run, and was skipped": ("SKIP", "", []),
}


@pytest.mark.parametrize(("before", "now", "outcomes"), COMPARED.values(), ids=COMPARED)
def test_only_what_passed_before_can_be_lost(
    before: str, now: str, outcomes: list[Outcome]
) -> None:
    found = {KEY: (now, "why")} if now else {}
    assert list(compared(found, {KEY: (before, "")} if before else {})) == outcomes


def test_the_baseline_is_read_for_the_clients_that_are_run(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    lines = "a\tbasic\tPASS\t0.1\t\na\todd\tFAIL\t0.1\twhy\nb\tbasic\tSKIP\t0.0\n"
    (tmp_path / "results" / "eager.tsv").write_text(lines)
    ours = {("a", "basic"): ("PASS", ""), ("a", "odd"): ("FAIL", "why")}
    assert eager(tmp_path, ("a",)) == ours
    assert eager(tmp_path) == ours | {("b", "basic"): ("SKIP", "")}


def test_without_a_directory_it_says_what_to_set() -> None:
    told = CliRunner().invoke(app, env={"CLIENTS_DIR": None})
    assert told.exit_code == 0
    assert "CLIENTS_DIR is not set" in told.stdout
