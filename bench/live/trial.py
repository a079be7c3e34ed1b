"""Every task, over every catalog, eagerly and folded, several times."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter

import openai

from app.demo.catalog import catalog
from app.demo.desk import Desk
from app.demo.loopback import serving
from app.demo.proxy import toolfold
from app.demo.tasks import TASKS, Task
from bench.live.agent import is_right, solve
from bench.live.endpoint import Endpoint
from bench.live.meter import Billed, Meter


@dataclass(frozen=True)
class Attempt:
    """One run of a task."""

    right: bool
    billed: tuple[Billed, ...]
    seconds: float
    refusal: str = ""
    """What the endpoint said where it did not take the request."""

    @property
    def prompt(self) -> int:
        return sum(one.prompt for one in self.billed)

    @property
    def completion(self) -> int:
        return sum(one.completion for one in self.billed)


@dataclass
class Row:
    """The attempts of one task over one route."""

    size: int
    task: str
    route: str
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def right(self) -> int:
        return sum(one.right for one in self.attempts)

    def first_prompt(self) -> float:
        """Prompt tokens of the first request, the median of the attempts."""
        return median(one.billed[0].prompt if one.billed else 0 for one in self.attempts)

    def tokens(self) -> float:
        """All tokens of the task."""
        return median(one.prompt + one.completion for one in self.attempts)

    def requests(self) -> float:
        """Requests that reached the endpoint."""
        return median(len(one.billed) for one in self.attempts)

    def seconds(self) -> float:
        return median(one.seconds for one in self.attempts)

    def cost(self, endpoint: Endpoint) -> float:
        """Estimated dollars of one attempt."""
        return median(endpoint.cost(one.prompt, one.completion) for one in self.attempts)


@contextmanager
def _routes(endpoint: Endpoint) -> Iterator[dict[str, tuple[str, Meter]]]:
    eager, folded = Meter(endpoint), Meter(endpoint)
    flags = ("--read-timeout", str(endpoint.seconds), *endpoint.flags)
    with (
        serving(eager) as eager_url,
        serving(folded) as metered,
        toolfold(f"{metered}/v1", *flags) as folded_url,
    ):
        yield {"eager": (f"{eager_url}/v1", eager), "folded": (folded_url, folded)}


def trial(endpoint: Endpoint) -> Iterator[Row]:
    """The rows, each as soon as it is measured. Raises NotStarted."""
    with _routes(endpoint) as routes:
        for size in endpoint.sizes:
            for task in TASKS[: endpoint.tasks]:
                for route, (url, meter) in routes.items():
                    row = Row(size, task.title, route)
                    row.attempts = [
                        _attempt(endpoint, url, meter, task, size, seed)
                        for seed in range(endpoint.repeats)
                    ]
                    yield row


def _attempt(
    endpoint: Endpoint, url: str, meter: Meter, task: Task, size: int, seed: int
) -> Attempt:
    desk, began, at = Desk(seed), perf_counter(), len(meter.billed)
    local = openai.DefaultHttpxClient(trust_env=False)  # what is called is on this machine
    options = {"max_retries": 0, "timeout": endpoint.seconds * 8}
    refusal, right = "", False
    with openai.OpenAI(base_url=url, api_key=endpoint.key, http_client=local, **options) as api:  # type: ignore[arg-type]
        try:
            answer = solve(api, endpoint.model, task, catalog(size), desk.run)
            right = is_right(task, answer, desk.run)
        except openai.APIError as error:
            refusal = error.message
    return Attempt(right, tuple(meter.billed[at:]), perf_counter() - began, refusal)
