"""The data port. Chat completions are folded; everything else below `/v1` is relayed.

Raw ASGI: the wrappers of a web framework cost 40% of the time of a request here.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import aclosing
from urllib.parse import unquote_to_bytes

from app.catalogs import Catalogs
from app.core.body import Malformed
from app.core.conversation import Conversation
from app.core.errors import Broken, ToolfoldError
from app.core.plan import Fold, Plan, Relay, Trim, decide, fold, open_request
from app.core.policy import Policy
from app.core.search import Rankings, Search, rank
from app.core.shape import Shape
from app.core.turn import Turn
from app.drive import run
from app.http import (
    ClientGone,
    Headers,
    Receive,
    Scope,
    Send,
    body_parts,
    cancelled_when_gone,
    forwarded,
    respond,
    returned,
    whole_body,
    write,
)
from app.learned import Learned
from app.memory import Memory
from app.stores import Store
from app.telemetry import Report, log_fault
from app.upstream import Rounds, Upstream
from app.writers import FRAMING, EventStream, Relayed, error_body, write_failure, write_whole

_BASE = b"/v1"
_CHAT = b"/chat/completions"


class Api:
    """Every request of the data port."""

    def __init__(
        self,
        upstream: Upstream,
        catalogs: Catalogs,
        store: Store,
        policy: Policy,
        patience: float,
        learned: Learned,
    ) -> None:
        self._upstream = upstream
        self._store = store
        self._catalogs = catalogs
        self._policy = policy
        self._patience = patience
        self._learned = learned

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        report = Report(scope["path"])
        try:
            target = _target(scope)
            if target is None:
                await _not_found(send, report)
            elif scope["method"] == "POST" and target.partition(b"?")[0].endswith(_CHAT):
                await self._chat(scope, receive, send, target, report)
            else:
                await self._pass_on(scope, receive, send, target, report)
        except ClientGone:
            report.error = "client_gone"
        finally:
            report.log()

    async def _chat(
        self, scope: Scope, receive: Receive, send: Send, target: bytes, report: Report
    ) -> None:
        raw = await whole_body(receive)
        memory = Memory(self._store, scope["headers"], query=scope["query_string"])
        async with cancelled_when_gone(receive):
            try:
                planned, shape = await self._plan(raw, memory)
            except ToolfoldError as error:
                report.status = await write_failure(send, error, report.headers(), 0)
                return
            report.planned(planned, shape)
            if isinstance(planned, Fold):
                await self._turn(scope, send, target, planned, memory, report)
            else:
                content = planned.body if isinstance(planned, Trim) else raw
                await self._relay(scope, send, target, content, report)

    async def _plan(self, raw: bytes, memory: Memory) -> tuple[Plan, Shape | None]:
        """What to do with the request. Whatever goes wrong in here is no reason to lose it."""
        try:
            body = open_request(raw, self._policy, self._catalogs.latest)
            if isinstance(body, Relay):
                return body, None
            shape = await self._catalogs.shape(body.get("tools") or b"[]", self._policy)
            decided = decide(body, self._policy, shape)
            if not isinstance(decided, str):
                return decided, shape
            conversation = Conversation.read(body.get("messages") or b"")
            records = await memory.recall(conversation.keys)
            traits = self._learned.of(body.value("model"))
            return fold(body, self._policy, shape, decided, conversation, records, traits), shape
        except Malformed as malformed:
            return Relay(str(malformed)), None
        except ToolfoldError:
            raise
        except ValueError:  # a member that nobody can read: half a character, too many digits
            return Relay("not-json"), None
        except Exception as error:  # promise: a rewrite is never why a request is lost
            log_fault("plan_failed", error)
            return Relay("internal-error"), None

    async def _turn(
        self,
        scope: Scope,
        send: Send,
        target: bytes,
        folded: Fold,
        memory: Memory,
        report: Report,
    ) -> None:
        """Play the rounds, and tell the client what is for the client."""
        turn = Turn(folded, self._policy)
        streaming = folded.body.get("stream") == b"true"
        headers = forwarded(scope["headers"], accept_encoding=b"identity")
        rounds = Rounds(self._upstream, target, headers, streaming=streaming)

        def head() -> Headers:
            report.status = 200
            report.played(turn)
            kept = returned(rounds.headers, *FRAMING)
            return [*kept, *report.headers(searches=not streaming)]

        async def lexical(search: Search) -> Rankings:
            return rank(search, folded.terms.shape)

        stream = EventStream(send, turn, head, self._patience) if streaming else None
        try:
            async with aclosing(run(turn, rounds, lexical, memory.remember)) as reads:
                if stream is None:
                    await write_whole(send, reads, head)
                else:
                    await stream.write(reads)
        except ToolfoldError as failure:
            report.error = type(failure).__name__
            ours = report.headers()
            report.status = await write_failure(send, failure, ours, turn.rounds)
        else:
            if stream is not None:
                await stream.end()
        finally:
            report.played(turn)
            if turn.mend.taken is not None:
                self._learned.learn(folded.body.value("model"), turn.mend.taken)

    async def _pass_on(
        self, scope: Scope, receive: Receive, send: Send, target: bytes, report: Report
    ) -> None:
        """Relay a request whose body we do not read."""
        lengths = [h for h in scope["headers"] if h[0] == b"content-length"]
        chunked = any(name == b"transfer-encoding" for name, _ in scope["headers"])
        read = asyncio.Event()

        async def upload() -> AsyncIterator[bytes]:
            async for part in body_parts(receive):
                yield part
            read.set()

        if lengths or chunked:
            content: AsyncIterable[bytes] | bytes = upload()
        else:
            content = await whole_body(receive)
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
        headers = [*forwarded(scope["headers"], accept_encoding=None), *(lengths or [])]
        relayed = Relayed(send, report)
        try:
            async with self._upstream.open(scope["method"], target, headers, content) as response:
                await relayed.copy(response)
        except Broken as failure:
            await relayed.fail(failure)
        else:
            await write(send, b"", more=False)


def _target(scope: Scope) -> bytes | None:
    """The path below the base URL with its query, as the client wrote it; None where it
    is not below it, or tries to climb out."""
    path: bytes = scope["raw_path"]
    below = path.removeprefix(_BASE)
    segments = unquote_to_bytes(path).split(b"/")
    if below == path or not below.startswith(b"/") or b".." in segments or b"." in segments:
        return None
    query: bytes = scope["query_string"]
    return below + (b"?" + query if query else b"")


async def _not_found(send: Send, report: Report) -> None:
    report.status = 404
    body = error_body(
        "Nothing is served here: requests go below `/v1`, as in `/v1/chat/completions`.",
        "invalid_request_error",
        None,
        "not_found",
    )
    await respond(send, 404, [(b"content-type", b"application/json")], body)
