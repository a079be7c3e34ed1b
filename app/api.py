"""The data port. Chat completions are folded; everything else below `/v1` is relayed.

Raw ASGI: the wrappers of a web framework cost 40% of the time of a request here.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import aclosing
from time import perf_counter

from app.admission import Admission, Ticket
from app.core.body import Body
from app.core.chunks import Chunk
from app.core.dialect.said import Known
from app.core.dialect.speech import nothing
from app.core.errors import Broken, ToolfoldError, TurnedAway
from app.core.fold import Fold
from app.core.hits import Ranked
from app.core.plan import Trim
from app.core.policy import Policy
from app.core.search import Search
from app.core.turn import Turn
from app.drive import run
from app.endpoints import below_base, check_hiding, is_chat, without_keys
from app.http import (
    ClientGone,
    Headers,
    Receive,
    Scope,
    Send,
    body_parts,
    cancelled_when_gone,
    forwarded,
    returned,
    write,
)
from app.identity import Asker, Identity
from app.memory import Memory
from app.planner import Planner
from app.rankers.rankers import Rankers
from app.spoken import Single, SpokenRounds, is_to_be_spoken, spoken
from app.stores import Store
from app.telemetry import Report
from app.telemetry.sniffer import Sniffer
from app.telemetry.telemetry import Telemetry
from app.upstream import Rounds, Upstream
from app.writers import FRAMING, EventStream, Relayed, write_failure, write_not_found, write_whole


class Api:
    """Every request of the data port."""

    def __init__(
        self,
        upstream: Upstream,
        planner: Planner,
        rankers: Rankers,
        store: Store,
        identity: Identity,
        admission: Admission,
        *,
        patience: float,
        telemetry: Telemetry,
        comment_after: float,
        operators_key: bytes = b"",
    ) -> None:
        self._upstream = upstream
        self._store = store
        self._planner = planner
        self._rankers = rankers
        self._identity = identity
        self._admission = admission
        self._waits = patience, comment_after
        self._telemetry = telemetry
        self._operators_key = operators_key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        report = self._telemetry.begin(scope)
        send = report.counting(send)
        try:
            with self._admission.ticket() as ticket:
                await self._serve(scope, receive, send, ticket, report)
        except TurnedAway as error:
            report.error = report.turned_away = error.code
            waits = any(name == b"expect" for name, _ in scope["headers"])
            closing = [(b"connection", b"close")] if waits else []
            report.status = await write_failure(send, error, [*report.headers(), *closing], 0)
        except ToolfoldError as error:
            report.refused(error)
            report.status = await write_failure(send, error, report.headers(), 0)
        except ClientGone:
            report.error = "client_gone"
        finally:
            self._telemetry.end(report)

    async def _serve(
        self, scope: Scope, receive: Receive, send: Send, ticket: Ticket, report: Report
    ) -> None:
        """Find out who asks for what. Raises ToolfoldError."""
        target = below_base(scope)
        if target is None:
            report.status = await write_not_found(send)
            return
        asker = self._identity.of(scope)
        report.asked_by(asker)
        folds = is_chat(scope["method"], target)
        if asker.policy.may_hide and not folds:
            check_hiding(scope["method"], target)
        if self._operators_key:
            target = without_keys(target)
        if folds:
            await self._chat(scope, receive, send, target, ticket, asker, report)
        else:
            await self._pass_on(scope, receive, send, target, report)

    async def _chat(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        target: bytes,
        ticket: Ticket,
        asker: Asker,
        report: Report,
    ) -> None:
        raw = await ticket.body(receive, scope["headers"])
        report.read(raw)
        policy = asker.policy
        memory = Memory(
            self._store, scope["headers"], asker.tenant.name, query=scope["query_string"]
        )
        async with cancelled_when_gone(receive):
            planned, shape = await self._planner.plan(raw, policy, memory)
            report.planned(planned, shape)
            report.captures = policy.capture
            if isinstance(planned, Fold):
                await self._turn(scope, send, target, planned, policy, memory, report)
            else:
                content = planned.body if isinstance(planned, Trim) else raw
                if is_to_be_spoken(content, policy):
                    await self._speak(scope, send, target, content, policy, report)
                else:
                    await self._relay(scope, send, target, content, report)

    async def _turn(
        self,
        scope: Scope,
        send: Send,
        target: bytes,
        folded: Fold,
        policy: Policy,
        memory: Memory,
        report: Report,
    ) -> None:
        """Play the rounds, and tell the client what is for the client."""
        turn = Turn(folded, policy)
        report.streams = folded.body.get("stream") == b"true"
        rounds = self._rounds(scope, target, policy, folded.reaches, report)

        async def rank(search: Search) -> Ranked:
            report.ranked_at.append(perf_counter())
            return await self._rankers.rank(search, folded.terms.shape, policy)

        reads = run(turn, rounds, rank, memory.remember)
        try:
            await self._tell(send, turn, rounds, reads, report)
        finally:
            self._planner.learn(folded, turn.mend)

    async def _speak(
        self,
        scope: Scope,
        send: Send,
        target: bytes,
        content: bytes,
        policy: Policy,
        report: Report,
    ) -> None:
        """A request that is not folded, to an upstream that is spoken to as text."""
        single = Single()
        report.streams = Body(content).get("stream") == b"true"
        rounds = self._rounds(scope, target, policy, nothing, report)
        await self._tell(send, single, rounds, single.run(rounds, content), report)

    def _rounds(
        self,
        scope: Scope,
        target: bytes,
        policy: Policy,
        beyond: Known,
        report: Report,
    ) -> Rounds | SpokenRounds:
        """The rounds of one request, in the dialect of the upstream's model."""
        headers = forwarded(scope["headers"], b"identity", self._operators_key)
        rounds = Rounds(self._upstream, target, headers, report.trace, streaming=report.streams)
        return spoken(rounds, policy, beyond)

    async def _tell(
        self,
        send: Send,
        turn: Turn | Single,
        rounds: Rounds | SpokenRounds,
        reads: AsyncGenerator[list[Chunk], None],
        report: Report,
    ) -> None:
        """Pass on what the client may see, in its framing."""

        def note() -> None:
            if isinstance(turn, Turn):
                report.played_by(turn)
            else:
                report.rounds = turn.rounds

        def head() -> Headers:
            report.status = 200
            note()
            kept = returned(rounds.headers, *FRAMING)
            return [*kept, *report.headers(whole=not report.streams)]

        stream = EventStream(send, turn, head, *self._waits) if report.streams else None
        try:
            async with aclosing(reads):
                await (write_whole(send, reads, head) if stream is None else stream.write(reads))
        except ToolfoldError as failure:
            report.error = type(failure).__name__
            report.status = await write_failure(send, failure, report.headers(), turn.rounds)
        else:
            if stream is not None:
                await stream.end()
                report.error = stream.failure
        finally:
            note()

    async def _pass_on(
        self, scope: Scope, receive: Receive, send: Send, target: bytes, report: Report
    ) -> None:
        """Relay a request whose body we do not read."""
        lengths = [h for h in scope["headers"] if h[0] == b"content-length"]
        chunked = any(name == b"transfer-encoding" for name, _ in scope["headers"])
        read = asyncio.Event()
        sniffer = Sniffer()

        async def upload() -> AsyncIterator[bytes]:
            async for part in body_parts(receive):
                sniffer.feed(part)
                yield part
            report.bytes_in, report.unfolded = sniffer.size, sniffer.tools
            read.set()

        if lengths or chunked:
            content: AsyncIterable[bytes] | bytes = upload()
        else:
            content = b""
            await receive()
            read.set()
        async with cancelled_when_gone(receive, read):
            await self._relay(scope, send, target, content, report, lengths)

    async def _relay(
        self,
        scope: Scope,
        send: Send,
        target: bytes,
        content: bytes | AsyncIterable[bytes],
        report: Report,
        lengths: Headers | None = None,
    ) -> None:
        """Pass the request on, and the reply back as the bytes that come."""
        kept = forwarded(scope["headers"], None, self._operators_key)
        headers = [*kept, *(lengths or [])]
        relayed = Relayed(send, report)
        call = report.trace.call()
        headers = report.trace.headers(headers, call)
        method, until = scope["method"], self._upstream.deadline()
        try:
            async with self._upstream.open(
                method, target, headers, content, until, call
            ) as response:
                await relayed.copy(response, until)
        except Broken as failure:
            await relayed.fail(failure)
        else:
            await write(send, b"", more=False)
