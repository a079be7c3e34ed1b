"""Prometheus metrics of requests, in a registry of their own.

Tokens saved are a subtraction that the reader makes, since it may be negative: offered less sent
less those of search rounds. A request whose search rounds have no known price is left out of all
three and counted apart, so the difference is true of all that is in it.
"""

from collections.abc import Callable, Iterable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.metrics_core import Metric

from app import __version__
from app.core.exposure import BRIDGE_NAME
from app.telemetry.instruments import COUNTERS, GAUGES, HISTOGRAMS
from app.telemetry.labels import Closed, FirstSeen, code_class
from app.telemetry.report import Report

_REASONS = 48
"""Words of ours for why something was decided, failed or fell back."""
_RANKERS = 8
_MOST_RANK = 5


class Metrics:
    """Every metric, and what requests add to them."""

    def __init__(
        self, tenants: Iterable[str] = (), *, most_tenants: int, most_models: int, provider: str
    ) -> None:
        """`tenants`: all that are known; as many as have room get series of their own. `""`, no
        tenant, is always one."""
        self.registry = CollectorRegistry()
        self.tenants = Closed(["", *tenants], most_tenants + 1)
        self._models = FirstSeen(most_models)
        self._reasons = FirstSeen(_REASONS)
        self._errors = FirstSeen(_REASONS)
        self._fallbacks = FirstSeen(_REASONS)
        self._rankers = FirstSeen(_RANKERS)
        self._provider = provider
        registry = self.registry
        self._counters = {
            name: Counter(name, text, labels, registry=registry)
            for name, (text, labels) in COUNTERS.items()
        }
        self._histograms = {
            name: Histogram(name, text, labels, buckets=buckets, registry=registry)
            for name, (text, labels, buckets) in HISTOGRAMS.items()
        }
        self._gauges = {
            name: Gauge(name, text, labels, registry=registry)
            for name, (text, labels) in GAUGES.items()
        }
        self._children: dict[tuple[str, ...], Counter | Histogram] = {}
        Info("toolfold_build", "The version that runs.", registry=registry).info(
            {"version": __version__}
        )
        ProcessCollector(registry=registry)

    def watch(self, name: str, value: Callable[[], float]) -> None:
        """A gauge whose value is asked for when the metrics are."""
        self._gauges[name].set_function(value)

    def alarm(self, name: str, *, on: bool) -> None:
        """An alarm begins or is over."""
        self._gauges["toolfold_alarm"].labels(name).set(on)

    def reloaded(self, worked: bool) -> None:
        """The policy file was read again."""
        self._count("toolfold_config_reloads", "success" if worked else "failure")

    def text(self) -> bytes:
        """All of them, in Prometheus' text format."""
        return generate_latest(_WithoutDates(self.registry))

    def tell(self, report: Report) -> None:
        """Take in a request that is over."""
        tenant = self.tenants(report.tenant)
        reason = self._reasons(report.reason)
        said = (tenant, report.decision, reason, code_class(report.status))
        self._count("toolfold_requests", *said)
        self._observe("toolfold_request_overhead_seconds", report.overhead_seconds, report.decision)
        if report.error == "client_gone":
            self._count("toolfold_client_disconnects", report.phase)
        if report.turned_away is not None:
            self._count("toolfold_shed", self._reasons(report.turned_away))
        if report.ignored_headers:
            self._count("toolfold_policy_header_rejected", "untrusted", by=report.ignored_headers)
        if report.findings:
            self._count("toolfold_tool_text_findings", tenant, by=report.findings)
        if report.unfolded:
            self._count("toolfold_unfolded_tools", endpoint(report.path))
        if report.has_tools:
            self._tell_tools(report, tenant)
        if report.answered or report.searches:
            self._tell_searches(report, tenant)
        for call in report.discoveries:
            self._count("toolfold_deferred_tool_calls", tenant, call.via)
            for ranker, rank in call.ranks.items():
                place = "missed" if not rank else str(rank) if rank <= _MOST_RANK else "6+"
                self._count("toolfold_found_rank", self._rankers(ranker), place)
        if report.is_chat:
            self._tell_upstream(report)

    def _tell_tools(self, report: Report, tenant: str) -> None:
        assert report.tools is not None
        assert report.tokens is not None
        assert report.advertised is not None
        self._observe("toolfold_tools_offered", report.tools[1], tenant)
        self._observe("toolfold_tools_sent", report.tools[0], tenant)
        self._observe("toolfold_schema_bytes", report.advertised.schema_bytes)
        if report.saved is None:
            self._count("toolfold_savings_unknown", tenant)
            return
        sent, offered = report.tokens
        self._count("toolfold_tool_tokens_offered", tenant, by=offered)
        self._count("toolfold_tool_tokens_sent", tenant, by=sent)
        self._count("toolfold_search_round_tokens", tenant, by=report.search_tokens or 0)

    def _tell_searches(self, report: Report, tenant: str) -> None:
        self._observe("toolfold_search_rounds", report.searches)
        if rejected := report.searches - len(report.answered):
            self._count("toolfold_searches", tenant, "rejected", by=rejected)
        for searched in report.answered:
            ranked = searched.ranked
            self._count("toolfold_searches", tenant, "hit" if searched.matched else "empty")
            if searched.unmatched:
                self._count("toolfold_unmatched_queries", tenant, by=len(searched.unmatched))
            if ranked.fallback is not None:
                self._count("toolfold_ranker_fallbacks", self._fallbacks(ranked.fallback))
            what = (BRIDGE_NAME, self._rankers(ranked.ranker))
            self._observe("gen_ai_execute_tool_duration_seconds", ranked.seconds, *what)

    def _tell_upstream(self, report: Report) -> None:
        """A model is told apart once an upstream has answered for it."""
        answered = any(200 <= call.status < 300 for call in report.trace.calls)
        model = (self._models if answered else self._models.known)(report.model or "unknown")
        who = ("chat", self._provider, model)
        for call in report.trace.calls:
            error = call.error or (str(call.status) if call.status >= 400 else "")
            self._observe(
                "gen_ai_client_operation_duration_seconds",
                call.ended - call.began,
                *who,
                self._errors(error) if error else "",
            )
            if call.first_chunk and not error:
                self._observe(
                    "gen_ai_client_operation_time_to_first_chunk_seconds",
                    call.first_chunk - call.began,
                    *who,
                )
        for played in report.played:
            if (usage := played.usage) is not None:
                self._observe("gen_ai_client_token_usage", usage.prompt, *who, "input")
                self._observe("gen_ai_client_token_usage", usage.completion, *who, "output")
                if usage.cached is not None:
                    self._count("toolfold_cached_tokens", *who[1:], by=usage.cached)

    def _count(self, name: str, *labels: str, by: float = 1) -> None:
        child = self._children.get((name, *labels))
        if child is None:
            child = self._children[name, *labels] = self._counters[name].labels(*labels)
        assert isinstance(child, Counter), "only counters are counted up"
        child.inc(by)

    def _observe(self, name: str, value: float, *labels: str) -> None:
        child = self._children.get((name, *labels))
        if child is None:
            whole = self._histograms[name]
            child = self._children[name, *labels] = whole.labels(*labels) if labels else whole
        assert isinstance(child, Histogram), "only histograms observe"
        child.observe(value)


_ENDPOINTS = ("responses", "messages", "completions", "batches", "files", "assistants", "runs")


def endpoint(path: str) -> str:
    """The endpoint of a path, of those that may take tools."""
    parts = path.strip("/").split("/")
    return next((part for part in reversed(parts) if part in _ENDPOINTS), "other")


class _WithoutDates:
    """A registry without the series that only say when each series began."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterable[Metric]:
        """Every metric."""
        for metric in self._registry.collect():
            metric.samples = [s for s in metric.samples if not s.name.endswith("_created")]
            yield metric
