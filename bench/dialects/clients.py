"""A directory of client scripts (see `bench.clients.harness`), run unchanged over an upstream
that only writes text."""

import sys
from collections.abc import Iterator
from pathlib import Path

from app.demo.loopback import free_ports
from bench.clients import harness
from bench.dialects.scenarios import DIALECTS, Outcome
from bench.process import running

CLIENTS = ("openai_py", "openai_py_edge", "openai_node", "pydantic_ai_py")
_LIFTED = ("--max-tools", "0", "--desc-max", "0")
"""A text has no limit of tools: where nothing is folded, the model behind it may not have one."""
_WAYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "folded": (("--mode", "auto"), ()),
    "unfolded": (("--mode", "off"), _LIFTED),
}


def outcomes(folder: Path) -> Iterator[Outcome]:
    """Run the clients in every dialect, folded and not. What fails without a proxy too is
    not held against it."""
    eager = harness.eager(folder, CLIENTS)
    for dialect in DIALECTS:
        for way, (flags, limits) in _WAYS.items():
            found = _run(folder, dialect, flags, limits)
            for one in harness.compared(found, eager):
                yield Outcome(f"{dialect}, {way}: {one.client} {one.scenario}", one.failure)


def _run(
    folder: Path, dialect: str, flags: tuple[str, ...], limits: tuple[str, ...]
) -> harness.Results:
    model, text_only, port, admin = free_ports(4)
    adapter = [sys.executable, "-m", "bench.dialects.textonly", str(text_only)]
    adapter += [f"http://127.0.0.1:{model}/v1", dialect]
    with (
        harness.upstream(folder, model, *limits),
        running(adapter, port=text_only, path="/v1/models"),
        harness.toolfold(port, admin, text_only, "--dialect", dialect, *flags),
    ):
        return harness.run(folder, port, model, CLIENTS)
