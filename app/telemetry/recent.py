"""What the page shows: the last requests, and sums. In memory, bounded, lost with the process.

`Recent.as_json()` is what `/stats.json` of the admin port answers:

    version    the version of Toolfold
    now        seconds of the epoch; so are all other times
    since      when this process began
    health     in_flight: requests being served
               state_degraded, draining: true or false
               alarms: {nothing_folded, core_tools_deferred, tools_unfolded: true or false}
    totals     TOTALS of all requests since then
    decisions  [{decision, reason, count}], most first
    tenants    {name: TOTALS}; "" is no tenant, "other" those beyond the bound
    series     the last 24 hours, oldest first, stretches without requests left out:
               [{"at": when it begins, "seconds": 300, **TOTALS}]
    searches   searches: how many; ranks: {ranker: {"1".."5", "6+", "missed": calls of found tools
               that this ranker had put there}}; unmatched: [{query, count, last}], latest first,
               a query is its text where that may be captured and else a hash like "#1f0c32aa";
               tools_known; never_found: {count, tools}; most_found: [{tool, found, called, share}]
    requests   the last 50, latest first: [{id, at, tenant, model, path, decision, reason, tools,
               tokens, saved, searches, rounds, status, error, ms, plan_ms, rank_ms, upstream_ms,
               overhead_ms, called}]; tools and tokens are [sent, offered] or null, saved is a
               number or null, called: [{tool, via, rank}]

    TOTALS     requests, folded, errors, searches, unmatched, tokens_offered, tokens_sent,
               search_tokens, savings_unknown, cached_tokens, tokens_saved

Nothing in it is a prompt, an argument or a result. Names of tools, models and tenants are what
clients and operators wrote: whoever shows them has to escape them.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable
from time import time
from typing import Any

from app import __version__
from app.telemetry.found import Found
from app.telemetry.labels import Closed, FirstSeen
from app.telemetry.report import LONGEST_TEXT, Report
from app.telemetry.totals import Totals, totals_of

_REQUESTS = 50
_STRETCH = 300
"""Seconds that one entry of the series sums up."""
_STRETCHES = 24 * 3600 // _STRETCH
_CALLS_SHOWN = 8
_REASONS = 48


class Recent:
    """Takes in requests in constant time; below 2 MB whatever comes."""

    def __init__(self, tenants: Iterable[str] = (), *, most_tenants: int = 100) -> None:
        self.tenants = Closed(["", *tenants], most_tenants + 1)
        self._began = time()
        self._requests: deque[dict[str, Any]] = deque(maxlen=_REQUESTS)
        self._totals = Totals()
        self._by_tenant: dict[str, Totals] = {}
        self._decisions: Counter[tuple[str, str]] = Counter()
        self._reasons = FirstSeen(_REASONS)
        self._series: deque[tuple[int, Totals]] = deque(maxlen=_STRETCHES)
        self._found = Found()

    def tell(self, report: Report) -> None:
        """Take in a request that is over."""
        tenant = self.tenants(report.tenant)
        stretch = int(report.at + report.seconds) // _STRETCH
        if not self._series or self._series[-1][0] < stretch:
            self._series.append((stretch, Totals()))
        by_tenant = self._by_tenant.get(tenant)
        if by_tenant is None:
            by_tenant = self._by_tenant[tenant] = Totals()
        one = totals_of(report)
        for totals in (self._totals, by_tenant, self._series[-1][1]):
            totals.add(one)
        self._decisions[report.decision, self._reasons(report.reason)] += 1
        self._found.add(report)
        self._requests.append(_row(report))

    def as_json(self, health: dict[str, Any], clock: Callable[[], float] = time) -> dict[str, Any]:
        """Everything, in the shape that is described above."""
        now = clock()
        oldest = int(now) // _STRETCH - _STRETCHES
        return {
            "version": __version__,
            "now": now,
            "since": self._began,
            "health": health,
            "totals": self._totals.as_json(),
            "decisions": [
                {"decision": decision, "reason": reason, "count": count}
                for (decision, reason), count in self._decisions.most_common()
            ],
            "tenants": {name: totals.as_json() for name, totals in self._by_tenant.items()},
            "series": [
                {"at": at * _STRETCH, "seconds": _STRETCH, **totals.as_json()}
                for at, totals in self._series
                if at > oldest
            ],
            "searches": self._found.as_json(),
            "requests": list(reversed(self._requests)),
        }


def _row(report: Report) -> dict[str, Any]:
    calls = report.trace.calls
    planned = calls[0].began if calls else report.ended
    return {
        "id": report.id,
        "at": report.at,
        "tenant": report.tenant[:LONGEST_TEXT],
        "model": report.model,
        "path": report.path[:LONGEST_TEXT],
        "decision": report.decision,
        "reason": report.reason,
        "tools": report.tools,
        "tokens": report.tokens,
        "saved": report.saved,
        "searches": report.searches,
        "rounds": report.rounds,
        "status": report.status,
        "error": report.error,
        "ms": _ms(report.seconds),
        "plan_ms": _ms(planned - (report.received or report.began)),
        "rank_ms": _ms(report.rank_seconds),
        "upstream_ms": _ms(report.upstream_seconds),
        "overhead_ms": _ms(report.overhead_seconds),
        "called": [
            {
                "tool": call.name[:LONGEST_TEXT],
                "via": call.via,
                "rank": min(filter(None, call.ranks.values()), default=None),
            }
            for call in report.discoveries[:_CALLS_SHOWN]
        ],
    }


def _ms(seconds: float) -> float:
    return round(1_000 * seconds, 2)
