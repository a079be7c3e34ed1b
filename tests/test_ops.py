"""The checks of `make ops` that take no package and no long time, on a real process each."""

import pytest

from bench.ops.__main__ import checks
from bench.ops.check import Check

LONG = {"C16", "C19", "C20", "C23", "C24", "C25", "C26", "C30", "C33", "C34", "C38", "C44"}
"""Those that take long, or measure on a machine that has to be quiet."""
QUICK = [one for one in checks() if not one.packages and one.id not in LONG]


def test_every_check_has_its_number_once() -> None:
    assert [one.id for one in checks()] == [f"C{number}" for number in range(1, 58)]


@pytest.mark.parametrize("one", QUICK, ids=lambda one: one.id)
async def test_a_check_holds(one: Check) -> None:
    outcome = await one.outcome()
    if outcome.verdict == "not run":
        pytest.skip(outcome.actual)

    assert outcome.verdict in ("ok", "LATE"), outcome.actual  # how late is the machine's
