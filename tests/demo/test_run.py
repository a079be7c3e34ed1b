"""The command as a user meets it: its exit code and what it prints into a pipe."""

import re
import subprocess
import sys

import pytest

from app.demo.conversation import WAYS
from app.demo.proxy import NotStarted, toolfold

DEMO = "import sys; from app.demo.run import main; sys.exit(main())"


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )


def test_the_demo_meets_its_goal_and_prints_plain_text() -> None:
    demo = run(DEMO)
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert demo.stderr == ""
    assert "Goal met" in demo.stdout
    assert demo.stdout.count("12 of 12 answers") == 3
    assert demo.stdout.count("Folding does nothing here.") == 1
    assert "\x1b" not in demo.stdout
    assert max(map(len, demo.stdout.splitlines())) <= 100
    _check_caching(demo.stdout)


def _check_caching(printed: str) -> None:
    """Every way answers everything, and memory leaves less to compute than no memory does."""
    row = r"^ (\S.*?) +\d+ +([\d,]+) +([\d,]+) +\d+% +([\d,]+) +9 of 9 *$"
    rows = re.findall(row, printed, flags=re.MULTILINE)
    numbers = {way: [int(cell.replace(",", "")) for cell in cells] for way, *cells in rows}
    assert tuple(numbers) == WAYS
    assert all(prompt == cached + fresh for prompt, cached, fresh in numbers.values())
    fresh = {way: cells[2] for way, cells in numbers.items()}
    assert fresh["promote"] < fresh["promote --store none"] < fresh["eager"]
    assert fresh["wrap"] < fresh["wrap --store none"] < fresh["eager"]


def test_without_the_sdk_it_says_what_to_install() -> None:
    demo = run(f"import sys; sys.modules['openai'] = None; {DEMO}")
    assert demo.returncode == 2
    assert "pip install 'toolfold[demo]'" in demo.stderr


def test_a_toolfold_that_does_not_start_is_reported_with_its_own_words() -> None:
    with pytest.raises(NotStarted, match=r"It printed:\n.+"), toolfold("no-address"):
        pass
