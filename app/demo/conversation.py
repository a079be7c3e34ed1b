"""One conversation, held in five ways: what of its prompts the upstream could serve from a cache.

Every way has an upstream of its own that has served nothing before, so a prompt can only share its
beginning with an earlier prompt of the same conversation.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from app.demo.catalog import catalog
from app.demo.client import Chat, connect
from app.demo.desk import Desk
from app.demo.dialogue import DIALOGUE
from app.demo.loopback import free_ports
from app.demo.routes import cold
from app.demo.upstream import Record

EAGER = "eager"
"""Without Toolfold: every tool is declared in every request."""
WITHOUT_MEMORY = "--store none"
WAYS = (EAGER, "promote", f"promote {WITHOUT_MEMORY}", "wrap", f"wrap {WITHOUT_MEMORY}")
"""A strategy as `toolfold serve --strategy` takes it, with what may follow."""


@dataclass(frozen=True)
class Conversation:
    """The whole conversation in one way, as the upstream saw it."""

    way: str
    records: tuple[Record, ...]
    asked: int
    answers_right: int
    """Answers that hold everything that the tools returned."""

    @property
    def right(self) -> bool:
        """Whether every answer is."""
        return self.answers_right == self.asked

    @property
    def prompt_tokens(self) -> int:
        """Of all requests."""
        return sum(record.prompt_tokens for record in self.records)

    @property
    def cached_tokens(self) -> int:
        """Of these, what an earlier request began with too."""
        return sum(record.cached_tokens for record in self.records)

    @property
    def fresh_tokens(self) -> int:
        """The rest, which no cache can serve."""
        return self.prompt_tokens - self.cached_tokens

    @property
    def later_fresh_tokens(self) -> int:
        """The same without the first request, which shares nothing here with any other."""
        first = self.records[0]
        return self.fresh_tokens - (first.prompt_tokens - first.cached_tokens)

    @property
    def share(self) -> float:
        """The cacheable part of the prompt tokens."""
        return self.cached_tokens / self.prompt_tokens


def conversations(
    size: int, count: Callable[[str], int], *, seed: int, ways: Sequence[str] = WAYS
) -> tuple[Conversation, ...]:
    """Hold the conversation in these ways, all at once, with the first `size` tools."""
    ports = free_ports(2 * len(ways))

    def held(way: str, at: int) -> Conversation:
        return _held(way, size=size, count=count, seed=seed, ports=ports[2 * at : 2 * at + 2])

    with ThreadPoolExecutor(len(ways)) as pool:
        return tuple(pool.map(held, ways, range(len(ways))))


def _held(
    way: str, *, size: int, count: Callable[[str], int], seed: int, ports: Sequence[int]
) -> Conversation:
    flags = None if way == EAGER else ["--strategy", *way.split()]
    desk = Desk(seed)
    with cold(count, flags, ports=ports) as route, connect(route.base_url) as api:
        chat = Chat(api, tools=catalog(size), run=desk.run, stream=True)
        right = 0
        for task in DIALOGUE:
            answer = chat.ask(task.ask)
            right += all(part in answer for part in task.truth(desk.run))
        return Conversation(way, tuple(route.upstream.records), len(DIALOGUE), right)
