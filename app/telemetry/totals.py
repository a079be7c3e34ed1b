"""Sums over requests: those that the page shows for a tenant, and for a stretch of time."""

from dataclasses import dataclass, fields

from app.telemetry.report import Report


@dataclass(slots=True)
class Totals:
    """What so many requests come to."""

    requests: int = 0
    folded: int = 0
    errors: int = 0
    """A status of 500 or more, or a reply that broke off."""
    searches: int = 0
    unmatched: int = 0
    tokens_offered: int = 0
    """These three are of requests whose saving is known, ..."""
    tokens_sent: int = 0
    search_tokens: int = 0
    savings_unknown: int = 0
    """... and this counts the others that had tools."""
    cached_tokens: int = 0

    def add(self, other: "Totals") -> None:
        """So many more."""
        for name in _NAMES:
            if more := getattr(other, name):
                setattr(self, name, getattr(self, name) + more)

    def as_json(self) -> dict[str, int]:
        """Every sum by its name, with the difference that they are for."""
        saved = self.tokens_offered - self.tokens_sent - self.search_tokens
        return {**{name: getattr(self, name) for name in _NAMES}, "tokens_saved": saved}


_NAMES = tuple(field.name for field in fields(Totals))


def totals_of(report: Report) -> Totals:
    """One request."""
    broke_off = report.error is not None and report.error != "client_gone"
    totals = Totals(
        requests=1,
        folded=report.decision == "folded",
        errors=report.status >= 500 or (broke_off and report.status < 400),
        searches=report.searches,
        unmatched=sum(len(searched.unmatched) for searched in report.answered),
        cached_tokens=sum(played.usage.cached or 0 for played in report.played if played.usage),
    )
    if report.saved is not None and report.tokens is not None:
        totals.tokens_sent, totals.tokens_offered = report.tokens
        totals.search_tokens = report.search_tokens or 0
    else:
        totals.savings_unknown = report.has_tools
    return totals
