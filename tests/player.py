"""Plays a turn without a socket: a script of replies in, what both sides saw out."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from app.core.body import Body
from app.core.catalog import compile_catalog
from app.core.chunks import DONE, END, Chunk, as_chunk, as_completion, fold
from app.core.codec import Json
from app.core.conversation import Conversation
from app.core.errors import UpstreamFailed
from app.core.fold import Fold
from app.core.fold import fold as fold_request
from app.core.hits import Ranked
from app.core.memory import Record, dump, load
from app.core.plan import Plan, decide
from app.core.policy import Policy
from app.core.search import Search, rank
from app.core.shape import compile_shape
from app.core.turn import Turn
from app.drive import Rounds, run
from app.spoken import SpokenRounds
from tests.builders import CATALOG, body, streamed
from tests.textonly import as_text, refusal

Reply = Json | UpstreamFailed | list[Json]
"""A completion, a failure, or a completion's chunks as they are to come."""
Framing = Callable[[Json], Iterable[Json]]


def buffered(completion: Json) -> list[Json]:
    """One chunk."""
    return [as_chunk(completion)]


@dataclass
class Played:
    """How a turn went."""

    turn: Turn
    bodies: list[bytes] = field(default_factory=list)
    """What the upstream got."""
    requests: list[Any] = field(default_factory=list)
    """The same, decoded."""
    visible: list[Json] = field(default_factory=list)
    """The chunks that the client got."""
    failure: UpstreamFailed | None = None

    @property
    def completion(self) -> Json:
        return as_completion(fold(self.visible))

    @property
    def message(self) -> Json:
        message: Json = self.completion["choices"][0]["message"]
        return message

    @property
    def calls(self) -> list[tuple[str, str, str]]:
        return [
            (one["id"], one["function"]["name"], one["function"]["arguments"])
            for one in self.message.get("tool_calls") or []
        ]

    @property
    def finish(self) -> str:
        reason: str = self.completion["choices"][0]["finish_reason"]
        return reason

    def tools(self, at: int) -> list[str]:
        """The names declared in a round."""
        return [tool["function"]["name"] for tool in self.requests[at].get("tools", [])]

    def said(self) -> dict[str, Any]:
        """What the client was told, whatever the framing."""
        whole = self.completion
        message = {k: v for k, v in self.message.items() if v not in (None, "", [])}
        return {
            "id": whole.get("id"),
            "created": whole.get("created"),
            "message": message,
            "finish": whole["choices"][0]["finish_reason"],
            "usage": whole.get("usage"),
        }


Records = dict[str, Record]


def planned(raw: bytes, policy: Policy, records: Records | None = None) -> Plan:
    """The plan of a request, compiled on the spot; a token is a character."""
    request = Body(raw)
    shape = compile_shape(compile_catalog(request.get("tools") or b"[]", len), policy, len)
    decided = decide(request, policy, shape)
    if not isinstance(decided, str):
        return decided
    conversation = Conversation.read(request.get("messages") or b"")
    return fold_request(request, policy, shape, decided, conversation, records or {})


def play(
    *script: Reply,
    framing: Framing = buffered,
    tools: Sequence[Json] = CATALOG,
    policy: dict[str, Any] | None = None,
    begun: bool = False,
    records: Records | None = None,
    **request: Any,
) -> Played:
    """Run a turn over a script; its last reply is played for ever. `begun`: the client has
    its 200 from the start. `records`: the memory, read and written."""
    chosen = Policy(**({"mode": "on"} | (policy or {})))
    folded = planned(body(tools, **request), chosen, records)
    assert isinstance(folded, Fold), folded
    played = Played(Turn(folded, chosen))
    played.turn.status_is_spent = begun
    rounds: Any = _Script(script, framing, played, chosen.dialect)
    if chosen.dialect != "native":
        rounds = SpokenRounds(rounds, chosen, folded.reaches)
    asyncio.run(_play(played, rounds, folded, records))
    return played


async def _play(played: Played, rounds: Rounds, folded: Fold, records: Records | None) -> None:
    async def ranked(search: Search) -> Ranked:
        shape = folded.terms.shape
        hits = rank(shape.catalog.index, search, shape)
        return Ranked("lexical", hits, {"lexical": hits})

    async def remember(key: str, record: Record) -> None:
        loaded = load(dump(record))
        assert loaded == record, "a record survives its bytes"
        if records is not None:
            records.setdefault(key, record)

    async with aclosing(run(played.turn, rounds, ranked, remember)) as reads:
        try:
            async for chunks in reads:
                played.visible += [chunk.data for chunk in chunks if chunk is not DONE]
        except UpstreamFailed as failure:
            played.failure = failure


class _Script:
    def __init__(
        self, script: Sequence[Reply], framing: Framing, played: Played, dialect: str
    ) -> None:
        self._script = script
        self._dialect = dialect
        self._framing = framing
        self._played = played

    async def chunks(self, request: bytes) -> AsyncGenerator[list[Chunk], None]:
        self._played.bodies.append(request)
        self._played.requests.append(json.loads(request))
        assert len(self._played.requests) < 20, "the turn does not end"
        if self._dialect != "native":
            assert refusal(self._played.requests[-1]) is None
        at = min(len(self._played.requests), len(self._script)) - 1
        match self._script[at]:
            case UpstreamFailed() as failure:
                raise failure
            case dict() as completion:
                if self._dialect != "native":
                    completion = as_text(completion, self._dialect)
                for chunk in self._framing(completion):
                    yield [Chunk(chunk)]
                yield [DONE]
            case chunks:
                for chunk in chunks:
                    yield [Chunk(chunk)]
                yield [END]


def in_pieces(cut: int) -> Framing:
    """A stream whose texts are cut into pieces of so many characters."""
    return lambda completion: streamed(completion, cut)
