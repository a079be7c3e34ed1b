"""What is said about a request: response headers for the app, a log line for the operator.

Never prompts, arguments, tool texts or keys.
"""

import logging
import sys
import traceback
from dataclasses import dataclass, field
from secrets import token_hex
from time import perf_counter
from typing import Any, Literal

import msgspec
import structlog

from app.core.errors import BadRequest, Broken, Denied, ToolfoldError
from app.core.fold import Fold
from app.core.hits import best
from app.core.plan import Observe, Plan, Relay, Trim
from app.core.search import Searched
from app.core.shape import Shape
from app.core.turn import Turn
from app.core.verdict import Discovery
from app.http import Headers
from app.identity import Asker

Decision = Literal["folded", "relayed", "observed", "refused"]
_log = structlog.get_logger()


def configure_logging(level: str) -> None:
    """JSON lines on standard error."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            structlog.processors.JSONRenderer(serializer=_serialized),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(handlers=[_Libraries()], level=logging.WARNING, force=True)


class _Libraries(logging.Handler):
    """What the server and the loop say, as lines of ours: of a fault its place alone."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, Exception):
            log_fault("server_fault", error)
        else:
            _log.debug("server", said=str(record.msg))


@dataclass
class Report:
    """What is known of one request. Filled in as it is served."""

    path: str
    id: str = field(default_factory=lambda: token_hex(8))
    decision: Decision = "relayed"
    reason: str = "other-endpoint"
    tools: tuple[int, int] | None = None
    """Declared in the first round, offered by the client."""
    tokens: tuple[int, int] | None = None
    """The same, in tokens."""
    tenant: str = ""
    policy: str = ""
    """The policy's name in the file."""
    ignored_headers: int = 0
    """Headers of ours from a peer that is not trusted."""
    findings: int = 0
    """Tools in whose text something is odd."""
    rounds: int = 0
    searches: int = 0
    discoveries: list[Discovery] = field(default_factory=list)
    answered: list[Searched] = field(default_factory=list)
    captures: bool = False
    """Whether what a search asked for may be written down."""
    learned: list[str] = field(default_factory=list)
    """Traits of the upstream that its refusals have taught in this request."""
    status: int = 0
    """0: the client hung up before there was one."""
    error: str | None = None
    began: float = field(default_factory=perf_counter)

    def planned(self, plan: Plan, shape: Shape | None) -> None:
        """Take in what was decided."""
        self.reason = plan.reason
        if shape is None or shape.catalog.fault is not None:
            return
        count = shape.catalog.count
        self.findings = sum(map(bool, shape.catalog.findings))
        match plan:
            case Relay():
                self.tools, self.tokens = (count, count), (shape.offered, shape.offered)
            case Observe():
                self.decision = "observed"
                self.tools, self.tokens = (plan.declared, count), (plan.sent, shape.offered)
            case Trim():
                self.decision = "folded"
                self.tools, self.tokens = (plan.declared, count), (plan.sent, shape.offered)
            case Fold():
                self.decision = "folded"
                self.tools, self.tokens = (len(plan.declared), count), (plan.sent, shape.offered)

    def asked_by(self, asker: Asker) -> None:
        """Take in who asks."""
        self.tenant, self.policy = asker.tenant.name, asker.tenant.policy_name
        self.ignored_headers = asker.ignored

    def refused(self, error: ToolfoldError) -> None:
        """Take in that the upstream is not asked."""
        self.decision = "refused"
        code = error.code if isinstance(error, BadRequest | Denied | Broken) else "internal_error"
        self.reason = code.replace("_", "-")

    def played(self, turn: Turn) -> None:
        """Take in how the turn went."""
        self.rounds, self.searches = turn.rounds, turn.searched
        self.discoveries = turn.discoveries
        self.answered = turn.answered
        self.learned = turn.mend.learned
        if turn.mend.unfolded and self.tools and self.tokens:
            self.decision, self.reason = "relayed", "upstream-refuses"
            self.tools, self.tokens = (self.tools[1],) * 2, (self.tokens[1],) * 2

    def headers(self, *, searches: bool = False) -> Headers:
        """The response headers that say what was done."""
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
        if searches:
            said.append(("searches", str(self.searches)))
        return [(f"x-toolfold-{name}".encode(), value.encode()) for name, value in said]

    def log(self) -> None:
        """The request's one line, and one for each call of a deferred tool."""
        for searched in self.answered:
            self._log_search(searched)
        for call in self.discoveries:
            said = {"tool": call.name, "discovered_via": call.via, "ranks": dict(call.ranks)}
            _log.info("deferred_tool_call", request_id=self.id, **said)
        _log.info(
            "request",
            request_id=self.id,
            path=self.path,
            tenant=self.tenant,
            policy=self.policy,
            ignored_headers=self.ignored_headers,
            decision=self.decision,
            reason=self.reason,
            tools=self.tools,
            tokens=self.tokens,
            findings=self.findings,
            rounds=self.rounds,
            searches=self.searches,
            learned=self.learned,
            status=self.status,
            error=self.error,
            ms=round(1_000 * (perf_counter() - self.began), 1),
        )

    def _log_search(self, searched: Searched) -> None:
        """Who ranked what where; what was asked for only where that may be captured."""
        ranked = searched.ranked
        shown = max(len(searched.matched), 1)
        _log.info(
            "tool_searched",
            request_id=self.id,
            call_id=searched.call_id,
            queries=list(searched.queries) if self.captures else len(searched.queries),
            matched=searched.matched,
            unmatched=list(searched.unmatched) if self.captures else len(searched.unmatched),
            ranker=ranked.ranker,
            confidence=ranked.confidence,
            fallback=ranked.fallback,
            shadow={
                name: best(rankings)[:shown]
                for name, rankings in ranked.by_ranker.items()
                if name != ranked.ranker
            },
            ms=round(1_000 * ranked.seconds, 2),
        )


def log_fault(event: str, error: Exception) -> None:
    """A fault of ours: where it happened, and nothing of what it was working on."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    _log.error(event, error=type(error).__name__, where=where)


def _serialized(event: dict[str, Any], **_: Any) -> str:
    return msgspec.json.encode(event).decode()
