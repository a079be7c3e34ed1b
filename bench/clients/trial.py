"""The clients through Toolfold, for each strategy, held against a run without it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from app.demo.loopback import free_ports
from bench.clients import harness
from bench.clients.harness import Outcome, Results

STRATEGIES = ("promote", "wrap")
_LIFTED = ("--max-tools", "0")
"""Without Toolfold all tools go to the upstream, so it has to take them."""


def trial(
    folder: Path, profile: str, strategies: Sequence[str], clients: Sequence[str], probes: bool
) -> Iterator[tuple[str, list[Outcome]]]:
    """What was run, and how it went. The directory has no probes without a proxy: those are
    run here first."""
    before = harness.eager(folder, clients)
    probed = _without(folder, clients) if probes else {}
    for strategy in strategies:
        found = _through(folder, strategy, profile, clients, False)
        yield strategy, list(harness.compared(found, before))
        if probes:
            found = _through(folder, strategy, profile, clients, True)
            yield f"{strategy}, probes", list(harness.compared(found, probed))


def _without(folder: Path, clients: Sequence[str]) -> Results:
    (model,) = free_ports(1)
    with harness.upstream(folder, model, *_LIFTED):
        return harness.run(folder, model, model, clients, probes=True)


def _through(
    folder: Path, strategy: str, profile: str, clients: Sequence[str], probes: bool
) -> Results:
    model, port, admin = free_ports(3)
    environ = {"TOOLFOLD_STRATEGY": strategy, "TOOLFOLD_UPSTREAM_PROFILE": profile}
    with (
        harness.upstream(folder, model),
        harness.toolfold(port, admin, model, environ=environ),
    ):
        return harness.run(folder, port, model, clients, probes=probes)
