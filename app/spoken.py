"""Rounds with an upstream that is spoken to in a dialect: each goes out as text and comes
back as chunks with calls. Nobody above knows that it is here."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from app.core.chunks import END, Chunk
from app.core.dialect.request import is_spoken
from app.core.dialect.said import Known
from app.core.dialect.speech import Speech, nothing
from app.core.errors import Broken, UpstreamFailed
from app.core.policy import Policy
from app.http import Headers
from app.upstream import Rounds


class SpokenRounds:
    """The rounds of one client request, each spoken."""

    def __init__(self, rounds: Rounds, policy: Policy, beyond: Known) -> None:
        self._rounds = rounds
        self._dialect = policy.dialect
        self._beyond = beyond

    @property
    def headers(self) -> Headers:
        """Of the latest reply."""
        return self._rounds.headers

    async def chunks(self, request: bytes) -> AsyncGenerator[list[Chunk], None]:
        """The reply to one round, read by read. Raises UpstreamFailed and BadRequest."""
        speech = Speech(request, self._dialect, self._beyond)
        while spoken := speech.next_request():
            try:
                async with aclosing(self._rounds.chunks(spoken)) as reads:
                    async for chunks in reads:
                        yield speech.receive(chunks)
            except UpstreamFailed:
                if not (first := speech.give_up()):
                    raise
                yield first  # a reply that lacks something is better than none


def spoken(rounds: Rounds, policy: Policy, beyond: Known = nothing) -> Rounds | SpokenRounds:
    """The rounds, spoken where the policy says so. `beyond`: tools that a call may name
    though the request does not declare them."""
    speaks = policy.dialect != "native" or policy.recover
    return SpokenRounds(rounds, policy, beyond) if speaks else rounds


def is_to_be_spoken(raw: bytes, policy: Policy) -> bool:
    """Whether a request that is not folded has to be spoken all the same."""
    return (policy.dialect != "native" or policy.recover) and is_spoken(raw)


@dataclass
class Single:
    """A turn of one round, in which nothing is folded."""

    rounds: int = 1
    status_is_spent: bool = False
    """The client has its 200: set by the edge."""

    async def run(
        self, rounds: Rounds | SpokenRounds, request: bytes
    ) -> AsyncGenerator[list[Chunk], None]:
        """What the client may see, read by read."""
        try:
            async with aclosing(rounds.chunks(request)) as reads:
                async for chunks in reads:
                    yield [chunk for chunk in chunks if chunk is not END]
        except RecursionError:
            raise Broken("The upstream's reply is nested too deeply.") from None
