"""Who is told of a request when it is over, and what can be asked of them."""

from collections.abc import Callable, Collection
from time import perf_counter
from typing import Any, Literal, Protocol, get_args

from app.http import Scope
from app.telemetry.health import Health
from app.telemetry.log import Log, log_fault
from app.telemetry.metrics import Metrics
from app.telemetry.recent import Recent
from app.telemetry.report import Report
from app.trace import Trace

State = Literal["state_degraded", "draining"]


class Sink(Protocol):
    """One way to tell of requests."""

    def tell(self, report: Report) -> None:
        """Take in a request that is over. Quick, and never waits."""
        ...


class SpanSink(Sink, Protocol):
    """A sink that sends what it is told to somebody else."""

    async def flush(self) -> None:
        """Send what waits. Returns in a few seconds, whether it has been sent or not."""
        ...


class Telemetry:
    """Begins the report of each request and hands it to every sink."""

    def __init__(
        self, metrics: Metrics, recent: Recent, patience: int, spans: SpanSink | None = None
    ) -> None:
        """`patience`: see `Health`. `spans`: none, none are told of."""
        self.metrics = metrics
        self.in_flight = 0
        """Requests that have begun and are not over."""
        self._recent = recent
        self._health = Health(metrics, patience)
        self._spans = spans
        own: tuple[Sink, ...] = (Log(), metrics, recent, self._health)
        self.sinks = own if spans is None else (*own, spans)
        """In the order in which they are told."""
        self._states: dict[State, Callable[[], bool]] = {}
        for state in get_args(State):
            self.watch(state, lambda: False)
        metrics.watch("toolfold_inflight_requests", lambda: self.in_flight)

    def watch(self, state: State, is_so: Callable[[], bool]) -> None:
        """Show a state of the process wherever its health is shown."""
        self._states[state] = is_so
        self.metrics.watch(f"toolfold_{state}", is_so)

    def know(self, tenants: Collection[str]) -> None:
        """Tell these tenants apart, as far as there is room; their names are the operator's."""
        for closed in (self.metrics.tenants, self._recent.tenants):
            closed.admit(tenants)

    def begin(self, scope: Scope) -> Report:
        """The report of a request that has come."""
        self.in_flight += 1
        trace = Trace(scope["headers"], spans=self._spans is not None)
        return Report(scope["path"], scope["method"], trace)

    def end(self, report: Report) -> None:
        """The request is over, however it ended. Never raises."""
        self.in_flight -= 1
        report.ended = perf_counter()
        for sink in self.sinks:
            try:
                sink.tell(report)
            except Exception as error:  # promise: telling of a request is no reason to lose it
                log_fault("telemetry_failed", error)

    def stats(self) -> dict[str, Any]:
        """What the page shows: see `app.telemetry.recent`."""
        health: dict[str, Any] = {"in_flight": self.in_flight, "alarms": self._health.active}
        for state, is_so in self._states.items():
            health[state] = is_so()
        return self._recent.as_json(health)

    async def flush(self) -> None:
        """Send what is still to be sent, within a few seconds."""
        if self._spans is not None:
            await self._spans.flush()
