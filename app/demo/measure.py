"""The comparison: every task, buffered and streamed, without Toolfold and with it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import openai

from app.demo.catalog import catalog
from app.demo.client import connect, solve
from app.demo.desk import Desk
from app.demo.routes import Route
from app.demo.tasks import TASKS, Task
from app.demo.upstream import Record


@dataclass(frozen=True)
class Run:
    """One task over one route in one framing, as the upstream saw it."""

    task: Task
    stream: bool
    records: tuple[Record, ...]
    right: bool
    """Whether the answer holds everything that the tools returned."""

    @property
    def prompt_tokens(self) -> int:
        """Of the whole task, search rounds included."""
        return sum(record.prompt_tokens for record in self.records)


@dataclass(frozen=True)
class Comparison:
    """The same runs over two routes."""

    size: int
    """Tools in the app's catalog."""
    plain: tuple[Run, ...]
    folded: tuple[Run, ...]

    @property
    def pairs(self) -> Iterator[tuple[Run, Run]]:
        """Each run without Toolfold, and the same run with it."""
        return zip(self.plain, self.folded, strict=True)

    @property
    def right(self) -> bool:
        """Whether every answer is."""
        return all(run.right for run in (*self.plain, *self.folded))

    @property
    def untouched(self) -> bool:
        """Whether every request reached the upstream at the size that the app sent."""
        return all(_sizes(plain) == _sizes(folded) for plain, folded in self.pairs)

    @property
    def first_saving(self) -> float:
        """Share of prompt tokens that folding takes off the first requests, at worst."""
        return min(
            1 - folded.records[0].prompt_tokens / plain.records[0].prompt_tokens
            for plain, folded in self.pairs
        )

    @property
    def task_saving(self) -> float:
        """Share of prompt tokens that folding takes off all tasks together."""
        return 1 - prompt_tokens(self.folded) / prompt_tokens(self.plain)


def compare(size: int, *, plain: Route, folded: Route, seed: int) -> Comparison:
    """Drive all tasks over both routes with the first `size` tools of the catalog."""
    return Comparison(
        size=size,
        plain=tuple(_runs(plain, size=size, seed=seed)),
        folded=tuple(_runs(folded, size=size, seed=seed)),
    )


def refused(size: int, route: Route) -> str | None:
    """What the upstream says to a catalog that it does not accept."""
    with connect(route.base_url) as api:
        try:
            solve(api, TASKS[0].ask, tools=catalog(size), run=Desk(0).run, stream=False)
        except openai.BadRequestError as error:
            return str(error.body["message"] if isinstance(error.body, dict) else error)
    return None


def prompt_tokens(runs: Sequence[Run]) -> int:
    """Of all requests of the runs."""
    return sum(run.prompt_tokens for run in runs)


def requests(runs: Sequence[Run]) -> int:
    """How many requests reached the upstream."""
    return sum(len(run.records) for run in runs)


def _runs(route: Route, *, size: int, seed: int) -> Iterator[Run]:
    tools, desk = catalog(size), Desk(seed)
    with connect(route.base_url) as api:
        for task in TASKS:
            truth = task.truth(desk.run)
            for stream in (False, True):
                start = len(route.upstream.records)
                answer = solve(api, task.ask, tools=tools, run=desk.run, stream=stream)
                records = tuple(route.upstream.records[start:])
                yield Run(task, stream, records, all(output in answer for output in truth))


def _sizes(run: Run) -> list[int]:
    return [record.size for record in run.records]
