"""What telling of a request costs: `python -m bench.telemetry`.

CPU time per request of every sink, the least of several batches, for a real report: one search, two
rounds, one call. The log goes to a file that keeps nothing.
"""

import asyncio
import os
import sys
from collections.abc import Callable
from time import process_time

from opentelemetry.sdk.trace import SpanProcessor

from app.main import create_telemetry
from app.settings import Settings
from app.telemetry import Report, configure_logging
from app.telemetry.metrics import Metrics
from app.telemetry.recent import Recent
from app.telemetry.spans import Server, Spans
from app.telemetry.telemetry import Telemetry
from tests.builders import body, call, reply, search
from tests.conftest import start_proxy

_BATCHES, _BATCH = 15, 1_000
_SCRIPT = [reply(search("s1", "weather")), reply(call("c1", "get_weather", {"city": "Oslo"}))]
_SCOPE = {
    "path": "/v1/chat/completions",
    "method": "POST",
    "headers": [(b"x-header", b"value")] * 12,
}


def main() -> None:
    """Print a line for each sink, and one for all but spans."""
    with open(os.devnull, "w") as nowhere:
        stderr, sys.stderr = sys.stderr, nowhere
        configure_logging("info")
        report = asyncio.run(real_report())
        sys.stderr = stderr
        telemetry = create_telemetry(Settings(otlp_endpoint=""))
        spans = Spans(SpanProcessor(), Server("openai", "upstream", 443))
        for sink in (*telemetry.sinks, spans):
            tell = sink.tell
            name = type(sink).__name__.lower()
            print(f"{name:13}  {_microseconds(lambda tell=tell: tell(report)):6.1f} us")  # type: ignore[misc]
        print(f"all but spans  {_microseconds(lambda: _told(telemetry, report)):6.1f} us")


def _told(telemetry: Telemetry, report: Report) -> None:
    telemetry.begin(_SCOPE)
    telemetry.end(report)


def _microseconds(run: Callable[[], None]) -> float:
    return min(_batch(run) for _ in range(_BATCHES)) * 1_000_000


def _batch(run: Callable[[], None]) -> float:
    began = process_time()
    for _ in range(_BATCH):
        run()
    return (process_time() - began) / _BATCH


class _Kept:
    """A sink that keeps what it is told."""

    def __init__(self) -> None:
        self.reports: list[Report] = []

    def tell(self, report: Report) -> None:
        """Keep it."""
        self.reports.append(report)

    async def flush(self) -> None:
        """Nothing waits."""


async def real_report() -> Report:
    """The report of a request that was really made."""
    kept = _Kept()
    metrics = Metrics(most_tenants=1, most_models=1, provider="openai")
    telemetry = Telemetry(metrics, Recent(), 100, kept)
    async with start_proxy(*_SCRIPT, telemetry=telemetry) as proxy:
        await proxy.post(body())
    [report] = kept.reports
    return report


if __name__ == "__main__":
    main()
