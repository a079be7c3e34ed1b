"""The one driver: streamed and buffered replies both pass through here."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Protocol

from app.core.chunks import Chunk
from app.core.errors import Broken, UpstreamFailed
from app.core.hits import Ranked
from app.core.memory import Record
from app.core.search import Search
from app.core.turn import Turn

Rank = Callable[[Search], Awaitable[Ranked]]
Remember = Callable[[str, Record], Awaitable[None]]


class Rounds(Protocol):
    """Where rounds are played."""

    def chunks(self, request: bytes) -> AsyncGenerator[Sequence[Chunk], None]:
        """The reply to a request, as the chunks of each read. Raises UpstreamFailed."""
        ...


async def run(
    turn: Turn, rounds: Rounds, rank: Rank, remember: Remember
) -> AsyncGenerator[list[Chunk], None]:
    """What the client may see, read by read; a read that shows it nothing is an empty list.
    Raises UpstreamFailed where the turn cannot go on.

    A turn is remembered before the client sees its end, so that its next request, which may
    reach another replica, finds what it needs.
    """
    try:
        while request := turn.next_request():
            try:
                async with aclosing(rounds.chunks(request)) as reads:
                    async for chunks in reads:
                        visible = turn.receive(chunks)
                        for search in turn.searches():
                            turn.answer(search, await rank(search))
                        if record := turn.record():
                            await remember(*record)
                        yield visible
            except UpstreamFailed as failure:
                turn.fail(failure)
    except RecursionError:
        raise Broken("The upstream's reply is nested too deeply.") from None
