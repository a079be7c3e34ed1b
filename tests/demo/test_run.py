"""The command as a user meets it: its exit code and what it prints into a pipe."""

import subprocess
import sys

import pytest

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


def test_without_the_sdk_it_says_what_to_install() -> None:
    demo = run(f"import sys; sys.modules['openai'] = None; {DEMO}")
    assert demo.returncode == 2
    assert "pip install 'toolfold[demo]'" in demo.stderr


def test_a_toolfold_that_does_not_start_is_reported_with_its_own_words() -> None:
    with pytest.raises(NotStarted, match=r"It printed:\n.+"), toolfold("no-address"):
        pass
