"""Sums over requests: those that the page shows for a tenant, and for a stretch of time."""

from dataclasses import asdict, dataclass
from typing import Any

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

    def add(self, report: Report) -> None:
        """One more request."""
        self.requests += 1
        self.folded += report.decision == "folded"
        broke_off = report.error is not None and report.error != "client_gone"
        self.errors += report.status >= 500 or (broke_off and report.status < 400)
        self.searches += report.searches
        self.unmatched += sum(len(searched.unmatched) for searched in report.answered)
        if report.saved is not None and report.tokens is not None:
            self.tokens_sent += report.tokens[0]
            self.tokens_offered += report.tokens[1]
            self.search_tokens += report.search_tokens or 0
        else:
            self.savings_unknown += report.has_tools
        self.cached_tokens += sum(
            played.usage.cached or 0 for played in report.played if played.usage
        )

    def as_json(self) -> dict[str, Any]:
        """Every sum by its name, with the difference that they are for."""
        saved = self.tokens_offered - self.tokens_sent - self.search_tokens
        return asdict(self) | {"tokens_saved": saved}
