"""What looks wrong though every request is served: said once in the log, and as a metric.

- `nothing_folded`: folding is on, tools come, and none of the requests was folded;
- `core_tools_deferred`: a policy defers tools that a model does not know to search for;
- `tools_unfolded`: large arrays of tools come to endpoints that are not folded.
"""

from typing import Protocol

import structlog

from app.telemetry.labels import FirstSeen
from app.telemetry.metrics import endpoint
from app.telemetry.report import LONGEST_TEXT, Report

ALARMS = ("nothing_folded", "core_tools_deferred", "tools_unfolded")
_log = structlog.get_logger()
_REASONS = 48
_NAMES_SHOWN = 8


class Alarms(Protocol):
    """Where an alarm is shown."""

    def alarm(self, name: str, *, on: bool) -> None:
        """It begins or is over."""
        ...


class Health:
    """Watches requests for what should not be."""

    def __init__(self, alarms: Alarms, patience: int) -> None:
        """`patience`: requests with tools, none of them folded, behind which that is odd."""
        self._alarms = alarms
        self._patience = patience
        self._unfolded = 0
        self._reasons = FirstSeen(_REASONS)
        self._counts: dict[str, int] = {}
        self.active: dict[str, bool] = {}
        for name in ALARMS:
            self._set(name, on=False)

    def tell(self, report: Report) -> None:
        """Take in a request that is over."""
        if report.decision == "folded":
            self._unfolded, self._counts = 0, {}
            self._set("nothing_folded", on=False)
        elif report.has_tools and report.decision == "relayed":
            self._count(report.reason)
        if report.core_deferred and not self.active["core_tools_deferred"]:
            self._set("core_tools_deferred", on=True)
            names = [name[:LONGEST_TEXT] for name in report.core_deferred[:_NAMES_SHOWN]]
            _log.warning("core_tools_deferred", tenant=report.tenant, tools=names)
        if report.unfolded and not self.active["tools_unfolded"]:
            self._set("tools_unfolded", on=True)
            where = endpoint(report.path)
            _log.warning("tools_unfolded", endpoint=where, bytes=report.unfolded)

    def _count(self, reason: str) -> None:
        reason = self._reasons(reason)
        self._unfolded += 1
        self._counts[reason] = self._counts.get(reason, 0) + 1
        if self._unfolded == self._patience:
            self._set("nothing_folded", on=True)
            common = max(self._counts, key=self._counts.__getitem__)
            _log.warning("nothing_folded", requests=self._unfolded, commonest_reason=common)

    def _set(self, name: str, *, on: bool) -> None:
        if self.active.get(name) is not on:
            self.active[name] = on
            self._alarms.alarm(name, on=on)
