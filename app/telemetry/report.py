"""What happened in one request: the value that everything told of it is made from."""

from collections.abc import Awaitable
from dataclasses import dataclass, field
from itertools import pairwise
from secrets import token_hex
from time import perf_counter, time
from typing import Literal, NamedTuple

from app.core.bill import Played, Usage, search_tokens, total
from app.core.errors import BadRequest, Broken, Denied, ToolfoldError
from app.core.fold import Fold
from app.core.plan import Observe, Plan, Relay, Trim
from app.core.search import Searched
from app.core.shape import Shape
from app.core.turn import Turn
from app.core.verdict import Discovery
from app.http import Headers, Message, Send
from app.identity import Asker
from app.trace import Trace

Decision = Literal["folded", "relayed", "observed", "refused"]
Phase = Literal["parse", "search", "ttfb", "stream"]
LONGEST_TEXT = 200
"""Characters of what a client can make as long as it likes."""


class Advertised(NamedTuple):
    """The tools of a request as the first round shows them to the model."""

    direct: int
    deferred: int
    schema_bytes: int
    """Of the declarations, ours included."""


@dataclass(slots=True)
class Report:
    """What is known of one request. Filled in as it is served. Times are of `perf_counter`."""

    path: str
    method: str = "POST"
    trace: Trace = field(default_factory=Trace)
    id: str = field(default_factory=lambda: token_hex(8))
    tenant: str = ""
    policy: str = ""
    """The policy's name in the file."""
    ignored_headers: int = 0
    """Headers of ours from a peer that is not trusted."""
    turned_away: str | None = None
    """Why it was not taken on: there was too much to do, or the body is too large."""
    model: str = ""
    is_chat: bool = False
    streams: bool = False
    decision: Decision = "relayed"
    reason: str = "other-endpoint"
    tools: tuple[int, int] | None = None
    """Declared in the first round, offered by the client."""
    tokens: tuple[int, int] | None = None
    """The same, in tokens."""
    advertised: Advertised | None = None
    findings: int = 0
    """Tools in whose text something is odd."""
    shape: Shape | None = None
    rounds: int = 0
    searches: int = 0
    played: list[Played] = field(default_factory=list)
    """The rounds that came to their end."""
    discoveries: list[Discovery] = field(default_factory=list)
    answered: list[Searched] = field(default_factory=list)
    learned: list[str] = field(default_factory=list)
    """Traits of the upstream that its refusals have taught in this request."""
    ranked_at: list[float] = field(default_factory=list)
    """When the ranking of each search began."""
    captures: bool = False
    """Whether what a search asked for may be written down."""
    unfolded: int = 0
    """Bytes of a `tools` array that went by on another endpoint, where there are many."""
    status: int = 0
    """0: the client hung up before there was one."""
    error: str | None = None
    bytes_in: int = 0
    bytes_out: int = 0
    at: float = field(default_factory=time)
    """When it began, in seconds of the epoch."""
    began: float = field(default_factory=perf_counter)
    received: float = 0.0
    """The body has come, where it is waited for."""
    first_byte: float = 0.0
    """The client was sent a head."""
    ended: float = 0.0

    def counting(self, send: Send) -> Send:
        """The same, with what is sent counted."""

        def count(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                self.first_byte = perf_counter()
            else:
                self.bytes_out += len(message.get("body", b""))
            return send(message)

        return count

    def asked_by(self, asker: Asker) -> None:
        """Take in who asks."""
        self.tenant, self.policy = asker.tenant.name, asker.tenant.policy_name
        self.ignored_headers = asker.ignored

    def refused(self, error: ToolfoldError) -> None:
        """Take in that the upstream is not asked."""
        self.decision = "refused"
        code = error.code if isinstance(error, BadRequest | Denied | Broken) else "internal_error"
        self.reason = code.replace("_", "-")

    def read(self, raw: bytes) -> None:
        """Take in the body of a chat completion."""
        self.received = perf_counter()
        self.is_chat = True
        self.bytes_in = len(raw)
        self.model = model_in(raw)

    def planned(self, plan: Plan, shape: Shape | None) -> None:
        """Take in what was decided."""
        self.reason = plan.reason
        if shape is None or shape.catalog.fault is not None:
            return
        self.shape = shape
        self.findings = sum(map(bool, shape.catalog.findings))
        count, size = shape.catalog.count, shape.catalog.size_in_bytes
        match plan:
            case Relay():
                self._as_offered(shape)
            case Observe():
                self.decision = "observed"
                self.tools, self.tokens = (plan.declared, count), (plan.sent, shape.offered)
                self.advertised = Advertised(count, 0, size)
            case Trim():
                self.decision = "folded"
                self.tools, self.tokens = (plan.declared, count), (plan.sent, shape.offered)
                size += len(plan.body) - self.bytes_in
                self.advertised = Advertised(plan.declared, 0, size)
            case Fold():
                self.decision = "folded"
                self.tools, self.tokens = (len(plan.declared), count), (plan.sent, shape.offered)
                if isinstance(model := plan.body.value("model"), str):
                    self.model = model[:LONGEST_TEXT]
                size = shape.size_in_bytes + sum(
                    len(shape.deferred[name].raw) for name in plan.promoted
                )
                self.advertised = Advertised(len(shape.direct), len(shape.deferred), size)

    def _as_offered(self, shape: Shape) -> None:
        count = shape.catalog.count
        self.tools, self.tokens = (count, count), (shape.offered, shape.offered)
        self.advertised = Advertised(count, 0, shape.catalog.size_in_bytes)

    def played_by(self, turn: Turn) -> None:
        """Take in how the turn went."""
        self.rounds, self.searches = turn.rounds, turn.searched
        self.played = turn.played
        self.discoveries = turn.discoveries
        self.answered = turn.answered
        self.learned = turn.mend.learned
        if turn.mend.unfolded and self.shape is not None:
            self.decision, self.reason = "relayed", "upstream-refuses"
            self._as_offered(self.shape)

    def headers(self, *, whole: bool = False) -> Headers:
        """The response headers that say what was done; all of them where the `whole` reply is
        there before its head."""
        said: list[tuple[str, str]] = [
            ("decision", self.decision),
            ("reason", self.reason),
            ("request-id", self.id),
        ]
        if self.tools is not None:
            said.append(("tools", "{}/{}".format(*self.tools)))
        if self.tokens is not None:
            said.append(("tokens", "{}/{}".format(*self.tokens)))
        if self.learned:
            said.append(("learned", ",".join(self.learned)))
        if whole:
            said.append(("searches", str(self.searches)))
            if (saved := self.saved) is not None:
                said.append(("saved", str(saved)))
        return [(f"x-toolfold-{name}".encode(), value.encode()) for name, value in said]

    # -- what follows from it ------------------------------------------------

    @property
    def has_tools(self) -> bool:
        """The client sent tools."""
        return self.tools is not None and self.tools[1] > 0

    @property
    def core_deferred(self) -> tuple[str, ...]:
        """Tools that were deferred though a model does not search for such."""
        if self.shape is None or self.decision != "folded":
            return ()
        return self.shape.core_deferred

    @property
    def usage(self) -> Usage | None:
        """Tokens of all rounds, where the upstream has told them all."""
        return total(self.played) if len(self.played) == self.rounds else None

    @property
    def search_tokens(self) -> int | None:
        """What the rounds behind the first cost, where that is known."""
        if self.decision != "folded":
            return 0
        return search_tokens(self.played) if len(self.played) == self.rounds else None

    @property
    def saved(self) -> int | None:
        """Tokens that folding saved, net: offered less sent less `search_tokens`. Negative where
        searching cost more. None where it is not known, or nothing came of the request."""
        extra = self.search_tokens
        if self.tokens is None or extra is None or self.decision == "observed":
            return None
        if self.error is not None or not 200 <= self.status < 300:
            return None
        sent, offered = self.tokens
        return offered - sent - extra

    @property
    def seconds(self) -> float:
        """From the head of the request to the end of the reply."""
        return self.ended - self.began

    @property
    def rank_seconds(self) -> float:
        """Ranking tools for searches."""
        return sum(searched.ranked.seconds for searched in self.answered)

    @property
    def upstream_seconds(self) -> float:
        """Waiting for the upstream, and for a client that reads slowly."""
        calls = self.trace.calls
        return max(sum(call.ended - call.began for call in calls) - self.rank_seconds, 0.0)

    @property
    def overhead_seconds(self) -> float:
        """What we added: reading and planning, ranking, and what lies between two rounds."""
        calls = self.trace.calls
        if not calls:
            return self.ended - (self.received or self.began)
        between = sum(b.began - a.ended for a, b in pairwise(calls))
        return calls[0].began - (self.received or self.began) + between + self.rank_seconds

    @property
    def phase(self) -> Phase:
        """How far it had come when the client hung up."""
        if self.status:
            return "stream"
        if not self.trace.calls:
            return "parse"
        return "search" if self.searches or self.rounds > 1 else "ttfb"


_MODEL = b'"model"'
_GLANCE = 16_384
"""Bytes at the beginning, and at the end: SDKs put the model before the messages or behind."""


def model_in(raw: bytes) -> str:
    """The model that a body names, "" where it cannot be told at a glance. Bodies that are
    relayed are not parsed for it."""
    at = raw.find(_MODEL, 0, _GLANCE)
    if at < 0 and len(raw) > _GLANCE:
        at = raw.find(_MODEL, max(len(raw) - _GLANCE, _GLANCE - len(_MODEL)))
    if at < 1 or raw[at - 1 : at] == b"\\":
        return ""
    rest = raw[at + len(_MODEL) : at + len(_MODEL) + LONGEST_TEXT].lstrip()
    if rest[:1] != b":" or (rest := rest[1:].lstrip())[:1] != b'"':
        return ""
    name = rest[1:].partition(b'"')[0]
    return "" if b"\\" in name else name.decode("utf-8", "replace")
