"""The rounds: small batches, round robin over all rows, so that noise hits all alike."""

from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from statistics import median

from bench.load import Load, WrongReply, connected
from bench.request import known
from bench.row import CONNECTIONS, Row
from bench.target import Target

_PILOT_CHUNKS = 500
_MAX_CHUNKS = 20_000


class Lane:
    """One target, and the row that its measurements fill."""

    def __init__(self, name: str, target: Target, seconds: float) -> None:
        self.row = Row()
        self._name, self._target, self._seconds = name, target, seconds
        self._stream_chunks = _PILOT_CHUNKS

    async def pace(self) -> None:
        """Find how many chunks this target streams in about the seconds of a batch."""
        rate = await self._chunk_rate(connections=1)
        length = int(rate * self._seconds)
        self._stream_chunks = max(_PILOT_CHUNKS, min(_MAX_CHUNKS, length))

    async def ask(self, connections: int) -> None:
        """One batch of buffered replies."""
        async with self._connected(connections) as load:
            batch = await load.batch(self._target.requests(0), self._seconds)
        self.row.latency[connections].append(median(batch.latencies) / 1e6)
        self.row.throughput[connections].append(len(batch.latencies) / batch.elapsed * 1e9)

    async def stream(self, connections: int) -> None:
        """One stream on each connection."""
        if self._target.streams:
            self.row.chunks[connections].append(await self._chunk_rate(connections))

    def weigh(self) -> None:
        self.row.resident = self._target.process.resident()

    async def _chunk_rate(self, connections: int) -> float:
        """Chunks a second, from the first byte of the first reply to the last of the last."""
        chunks = self._stream_chunks // connections
        async with self._connected(connections) as load:
            batch = await load.batch(self._target.requests(chunks), 0)
            arrived = [reply.body().count(b"data: {") for reply in batch.replies]
            if min(arrived) < chunks:
                raise WrongReply(f"a stream of {chunks} chunks arrived with {min(arrived)}")
        return sum(arrived) / batch.replying * 1e9

    @asynccontextmanager
    async def _connected(self, connections: int) -> AsyncIterator[Load]:
        """Warm connections: the proxy has opened those to its upstream as well."""
        target = self._target
        try:
            async with connected(target.port, connections, target.decision) as load:
                await load.batch(known(), 0)
                yield load
        except (WrongReply, OSError) as wrong:
            raise WrongReply(f"row `{self._name}`: {wrong!r}") from wrong


async def trial(
    targets: Mapping[str, Target], *, seconds: float, rounds: int, tell: Callable[[str], None]
) -> dict[str, Row]:
    """Measure every target in every round, each time beginning with another one."""
    lanes = {name: Lane(name, target, seconds) for name, target in targets.items()}
    order = deque(lanes.values())
    for lane in order:
        await lane.pace()
    for turn in range(rounds):
        tell(f"round {turn + 1} of {rounds}")
        for connections in CONNECTIONS:
            for lane in order:
                await lane.ask(connections)
            for lane in order:
                await lane.stream(connections)
        order.rotate()
    for lane in order:
        lane.weigh()
    return {name: lane.row for name, lane in lanes.items()}
