"""The log: one JSON line for each request, and one for each thing in it that has a name.

Events: `tools_advertised`, `tool_searched`, `deferred_tool_call`, `request`.
"""

import logging
import sys
import traceback
from time import monotonic
from typing import Any

import structlog

from app.core.codec import encode
from app.core.hits import best
from app.core.search import Searched
from app.telemetry.report import LONGEST_TEXT, Report

_log = structlog.get_logger()
_SILENCE = 60.0
"""Seconds: a collector that is down is a warning a second otherwise."""
_MOST_SAID = 256


def configure_logging(level: str) -> None:
    """JSON lines on standard error, those of libraries too."""
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
    logging.basicConfig(level=logging.WARNING, handlers=[_Libraries()], force=True)
    logging.captureWarnings(capture=True)


class Log:
    """Tells of a request in lines."""

    def tell(self, report: Report) -> None:
        """Its events, then its own line."""
        log = _log.bind(request_id=report.id)
        if report.has_tools and report.advertised is not None:
            log.info("tools_advertised", **report.advertised._asdict())
        for searched in report.answered:
            log.info("tool_searched", **_searched(searched, report.captures))
        for call in report.discoveries:
            found = {"tool": call.name, "discovered_via": call.via, "ranks": dict(call.ranks)}
            log.info("deferred_tool_call", **found)
        usage = report.usage
        log.info(
            "request",
            trace_id=report.trace.trace_id or None,
            tenant=report.tenant,
            policy=report.policy,
            method=report.method,
            path=report.path[:LONGEST_TEXT],
            model=report.model or None,
            stream=report.streams,
            decision=report.decision,
            reason=report.reason,
            tools=report.tools,
            tokens=report.tokens,
            findings=report.findings,
            search_tokens=report.search_tokens if report.rounds else None,
            saved=report.saved,
            usage=usage and usage._asdict(),
            rounds=report.rounds,
            searches=report.searches,
            learned=report.learned,
            status=report.status,
            error=report.error,
            ms=_ms(report.seconds),
            upstream_ms=_ms(report.upstream_seconds),
            overhead_ms=_ms(report.overhead_seconds),
            bytes_in=report.bytes_in,
            bytes_out=report.bytes_out,
            unfolded_bytes=report.unfolded,
            ignored_headers=report.ignored_headers,
        )


def log_fault(event: str, error: BaseException) -> None:
    """A fault of ours: where it happened, and nothing of what it was working on."""
    _log.error(event, **_fault(error))


def _searched(searched: Searched, captures: bool) -> dict[str, Any]:
    """Who ranked what where; what was asked for only where that may be captured."""
    ranked = searched.ranked
    shown = max(len(searched.matched), 1)
    return {
        "call_id": searched.call_id,
        "queries": list(searched.queries) if captures else len(searched.queries),
        "matched": searched.matched,
        "unmatched": list(searched.unmatched) if captures else len(searched.unmatched),
        "ranker": ranked.ranker,
        "confidence": ranked.confidence,
        "fallback": ranked.fallback,
        "shadow": {
            name: best(rankings)[:shown]
            for name, rankings in ranked.by_ranker.items()
            if name != ranked.ranker
        },
        "ms": round(1_000 * ranked.seconds, 2),
    }


class _Libraries(logging.Handler):
    """What libraries warn of: the text that their programmers wrote, and nothing of what it was
    filled in with, which may be anything. The same again is silent for a while."""

    def __init__(self) -> None:
        super().__init__()
        self._silent_until: dict[tuple[str, ...], float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        said = {"logger": record.name, "message": str(record.msg).partition("\n")[0]}
        if record.name == "py.warnings":
            said["message"] = ""
        said |= _fault(error) if error else {}
        if not self._is_news(tuple(said.values())):
            return
        level = logging.ERROR if record.levelno >= logging.ERROR else logging.WARNING
        _log.log(level, "library", **said)

    def _is_news(self, said: tuple[str, ...]) -> bool:
        now = monotonic()
        if now < self._silent_until.get(said, 0):
            return False
        if len(self._silent_until) >= _MOST_SAID:
            self._silent_until.clear()
        self._silent_until[said] = now + _SILENCE
        return True


def _fault(error: BaseException) -> dict[str, str]:
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return {"error": type(error).__name__, "where": where}


def _ms(seconds: float) -> float:
    return round(1_000 * seconds, 1)


def _serialized(event: dict[str, Any], **_: Any) -> str:
    return encode(event).decode()
