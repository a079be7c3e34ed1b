"""A check: an id, what is looked at, the right outcome, and a function that finds the actual."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Run = Callable[[], Awaitable[str]]
Verdict = Literal["ok", "WRONG", "LATE", "not run"]

_LONGEST = 900.0
"""Seconds for one check."""


class Wrong(Exception):
    """The actual outcome, where it is not the right one."""


class Late(Exception):
    """The actual outcome, where it is the right one and took too long."""


class NotRun(Exception):
    """Why a check could not be made here."""


class Outcome(NamedTuple):
    """How a check went."""

    check: "Check"
    verdict: Verdict
    actual: str


@dataclass(frozen=True)
class Check:
    """What has to hold."""

    id: str
    what: str
    right: str
    run: Run = field(compare=False)
    packages: tuple[str, ...] = ()
    """Debian packages that it runs."""

    async def outcome(self) -> Outcome:
        """Make it."""
        try:
            async with asyncio.timeout(_LONGEST):
                return Outcome(self, "ok", await self.run())
        except NotRun as reason:
            return Outcome(self, "not run", str(reason))
        except Late as actual:
            return Outcome(self, "LATE", str(actual))
        except Wrong as actual:
            return Outcome(self, "WRONG", str(actual))
        except Exception as error:  # a check that breaks is not one that holds
            return Outcome(self, "WRONG", f"{type(error).__name__}: {error}"[:300])


CHECKS: list[Check] = []
"""Every check, in the order of its file."""


def check(id: str, what: str, right: str, *packages: str) -> Callable[[Run], Run]:
    """Make a function a check."""

    def register(run: Run) -> Run:
        CHECKS.append(Check(id, what, right, run, packages))
        return run

    return register


def expect(holds: object, actual: str, *, in_time: bool = True) -> str:
    """The actual outcome. Raises Wrong where it does not hold, and Late where it only took too
    long: a machine that is busy makes no outcome a wrong one."""
    if not holds:
        raise Wrong(actual)
    if not in_time:
        raise Late(actual)
    return actual
