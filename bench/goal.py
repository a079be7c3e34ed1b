"""What was promised, and whether this run kept it. Told, never asserted: machines are noisy."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from bench.row import CONNECTIONS, Row, added, ratio


@dataclass(frozen=True)
class Goal:
    """One promise; `met` is None where a row that it needs was not measured."""

    promise: str
    measured: str
    met: bool | None


def goals(rows: Mapping[str, Row]) -> Iterator[Goal]:
    """Every goal, judged by these rows."""
    for promise, needs, judge in _GOALS:
        missing = [name for name in needs if name not in rows]
        if missing:
            yield Goal(promise, f"not measured: no row `{'`, `'.join(missing)}`", None)
        else:
            yield Goal(promise, *judge(rows))


def _judge_latency(rows: Mapping[str, Row]) -> tuple[str, bool]:
    direct = rows["direct"].latency
    cost = added(rows["known"].latency, direct, 1)
    measured = f"{cost:.2f} ms"
    if minimal := rows.get("minimal"):
        measured += f", the minimal relay {added(minimal.latency, direct, 1):.2f} ms"
    return measured, cost <= 1.2


def _judge_throughput(rows: Mapping[str, Row]) -> tuple[str, bool]:
    known, litellm = rows["known"].throughput, rows["litellm"].throughput
    times = [ratio(known, litellm, connections) for connections in CONNECTIONS]
    return f"{_each(times, '.0f')} connections", min(times) >= 20


def _judge_streams(rows: Mapping[str, Row]) -> tuple[str, bool]:
    rates = [median(rows["known"].chunks[connections]) for connections in CONNECTIONS]
    return f"{_each(rates, ',.0f')} streams", min(rates) >= 25_000


def _judge_memory(rows: Mapping[str, Row]) -> tuple[str, bool]:
    megabytes = rows["known"].resident / 1e6
    return f"{megabytes:.0f} MB", megabytes <= 150


def _each(values: list[float], form: str) -> str:
    pairs = zip(values, CONNECTIONS, strict=True)
    return ", ".join(f"{value:{form}} at {connections}" for value, connections in pairs)


_Judge = Callable[[Mapping[str, Row]], tuple[str, bool]]
_GOALS: list[tuple[str, tuple[str, ...], _Judge]] = [
    ("known catalog, at most 1.2 ms added", ("known", "direct"), _judge_latency),
    ("known catalog, 20 times LiteLLM's throughput", ("known", "litellm"), _judge_throughput),
    ("25,000 streamed chunks a second, one worker", ("known",), _judge_streams),
    ("at most 150 MB resident, one vocabulary loaded", ("known",), _judge_memory),
]
"""The promise, the rows it needs, and who judges."""
