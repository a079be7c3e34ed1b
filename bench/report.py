"""The tables: what a person reads, and the same as JSON."""

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from bench.goal import goals
from bench.request import TOOLS, size
from bench.row import CONNECTIONS, Row, added, ratio

_TITLES = {
    "direct": "direct",
    "nginx": "nginx",
    "minimal": "minimal relay",
    "relayed": "Toolfold, relayed",
    "known": "Toolfold, known",
    "unknown": "Toolfold, unknown",
    "litellm": "LiteLLM's proxy",
}
_VERDICTS = {True: "[green]met[/]    ", False: "[red]missed[/] ", None: "[yellow]unknown[/]"}


@dataclass
class Report:
    """One run."""

    seconds: float
    rounds: int
    rows: dict[str, Row] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    """Rows that were not measured, and why."""

    def as_json(self) -> dict[str, Any]:
        python = platform.python_version()
        machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {python}"
        verdicts = [asdict(goal) for goal in goals(self.rows)]
        return {"machine": machine, "request_bytes": size(), **asdict(self), "goals": verdicts}

    def print(self, console: Console) -> None:
        console.print(
            f"A request of {size() / 1000:.0f} kB with {TOOLS} tools; {self.rounds} rounds of "
            f"{self.seconds} s; {os.cpu_count()} cores.\nMedians over the rounds, ± how far they "
            "lay apart; x is the ratio to direct.\n"
        )
        for connections in CONNECTIONS:
            console.print(_requests(self.rows, connections))
        console.print(_streams(self.rows))
        for goal in goals(self.rows):
            console.print(f"{_VERDICTS[goal.met]} {goal.promise}: {goal.measured}", soft_wrap=True)
        for name, reason in self.skipped.items():
            console.print(f"skipped {_TITLES[name]}: {reason}", soft_wrap=True)


def _table(title: str, *numbers: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("", min_width=max(map(len, _TITLES.values())))
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table


def _requests(rows: Mapping[str, Row], connections: int) -> Table:
    title = f"requests, {connections} connection{'s' * (connections > 1)}"
    table = _table(title, "latency, ms", "added", "per second", "x")
    direct = rows["direct"]
    for name, row in rows.items():
        table.add_row(
            _TITLES[name],
            _spread(row.latency[connections], ".2f"),
            f"{added(row.latency, direct.latency, connections):.2f}",
            _spread(row.throughput[connections], ",.0f"),
            f"{ratio(row.throughput, direct.throughput, connections):.3f}",
        )
    return table


def _streams(rows: Mapping[str, Row]) -> Table:
    headings = [f"{count} stream{'s' * (count > 1)}" for count in CONNECTIONS]
    table = _table("chunks per second, and memory", headings[0], "x", headings[1], "x", "MB")
    for name, row in rows.items():
        cells = [cell for count in CONNECTIONS for cell in _stream_cells(row, rows, count)]
        table.add_row(_TITLES[name], *cells, f"{row.resident / 1e6:.0f}")
    return table


def _stream_cells(row: Row, rows: Mapping[str, Row], connections: int) -> list[str]:
    if not row.chunks[connections]:
        return ["", ""]
    times = ratio(row.chunks, rows["direct"].chunks, connections)
    return [_spread(row.chunks[connections], ",.0f"), f"{times:.3f}"]


def _spread(values: list[float], form: str) -> str:
    middle = median(values)
    return f"{middle:{form}} ±{(max(values) - min(values)) / 2 / middle:3.0%}"
