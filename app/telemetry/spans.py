"""OpenTelemetry spans of requests, by the GenAI conventions. An extra: `toolfold[otel]`.

https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/: a server span; below it a `chat`
span for each upstream request and an `execute_tool` span for each search. They are made when the
request is over, with the ids that the upstream was told while it was served, so nothing is waited
for and nothing hangs between the two.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress
from secrets import token_hex
from typing import NamedTuple

from opentelemetry import trace as otel
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased
from opentelemetry.trace import SpanKind, Status, StatusCode, TraceFlags, TraceState
from opentelemetry.util.types import AttributeValue

from app import __version__
from app.core.bill import Played
from app.core.exposure import BRIDGE_NAME
from app.telemetry.report import LONGEST_TEXT, Report
from app.trace import Call

_EXPORT_SECONDS = 1.0
"""For one export. The exporter's own default of 10 would outlast the flush."""
_FLUSH_SECONDS = 2.5
"""For all that is still to be said when the process leaves: a collector can be mute."""
_QUEUE = 2_048
"""Spans that wait; the oldest are dropped. Some 5 KB each."""
_BATCH = 512
_DELAY_MILLIS = 1_000

Attributes = dict[str, AttributeValue | None]


class Server(NamedTuple):
    """The upstream, as spans name it."""

    provider: str
    address: str
    port: int


def exporter(endpoint: str) -> SpanProcessor:
    """Sends spans to a collector's OTLP endpoint over HTTP, from a thread of its own."""
    url = f"{endpoint.rstrip('/')}/v1/traces"
    return BatchSpanProcessor(
        OTLPSpanExporter(url, timeout=_EXPORT_SECONDS), _QUEUE, _DELAY_MILLIS, _BATCH
    )


class Spans:
    """Tells of requests in spans."""

    def __init__(self, processor: SpanProcessor, server: Server) -> None:
        self._processor = processor
        self._server = server
        self._ids = _Ids()
        said = Resource({"service.name": "toolfold", "service.version": __version__})
        provider = TracerProvider(
            sampler=ParentBased(ALWAYS_ON),
            resource=said.merge(OTELResourceDetector().detect()),
            id_generator=self._ids,
            shutdown_on_exit=False,  # it would wait for half a minute
        )
        provider.add_span_processor(processor)
        self._tracer = provider.get_tracer("toolfold", __version__)

    def tell(self, report: Report) -> None:
        """Make the spans of a request that is over."""
        trace = report.trace
        if not trace.sampled:
            return
        whole = self._span(
            _name(report),
            (trace.trace_id, trace.span_id),
            _parent(report),
            SpanKind.SERVER,
            _request_attributes(report),
            _at(report, report.began),
        )
        for name, said in _events(report):
            whole.add_event(name, _said(said), _at(report, report.ended))
        within = otel.set_span_in_context(whole)
        for at, call in enumerate(trace.calls):
            played = report.played[at] if at < len(report.played) else Played()
            name = f"chat {report.model}".strip() if report.is_chat else report.method
            attributes = self._call_attributes(report, call, played)
            ids = (trace.trace_id, call.span_id)
            began = _at(report, call.began)
            span = self._span(name, ids, within, SpanKind.CLIENT, attributes, began)
            _end(span, _at(report, call.ended), _error(call))
        for searched, began_at in zip(report.answered, report.ranked_at, strict=False):
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": BRIDGE_NAME,
                "gen_ai.tool.type": "extension",
                "gen_ai.tool.call.id": searched.call_id[:LONGEST_TEXT],
                "toolfold.search.queries": len(searched.queries),
                "toolfold.search.matched": searched.matched,
                "toolfold.search.unmatched": len(searched.unmatched),
                "toolfold.search.ranker": searched.ranked.ranker,
                "toolfold.search.confidence": searched.ranked.confidence,
                "toolfold.search.fallback": searched.ranked.fallback,
            }
            if report.captures:
                attributes["gen_ai.retrieval.query.text"] = "\n".join(searched.queries)
            name, ids, began = f"execute_tool {BRIDGE_NAME}", ("", ""), _at(report, began_at)
            span = self._span(name, ids, within, SpanKind.INTERNAL, attributes, began)
            _end(span, _at(report, began_at + searched.ranked.seconds), None)
        failed = report.error if report.error or report.status < 500 else str(report.status)
        _end(whole, _at(report, report.ended), failed)

    async def flush(self) -> None:
        """Send what waits, for a few seconds at most; what is not sent by then is lost."""
        loop = asyncio.get_running_loop()
        done = asyncio.Event()

        def shut_down() -> None:
            self._processor.shutdown()
            with suppress(RuntimeError):  # nobody waits any more
                loop.call_soon_threadsafe(done.set)

        # A thread of a pool would be waited for at exit, however long it takes.
        threading.Thread(target=shut_down, daemon=True).start()
        with suppress(TimeoutError):
            async with asyncio.timeout(_FLUSH_SECONDS):
                await done.wait()

    def _call_attributes(self, report: Report, call: Call, played: Played) -> Attributes:
        server: Attributes = {
            "server.address": self._server.address,
            "server.port": self._server.port,
            "http.response.status_code": call.status or None,
            "error.type": _error(call),
        }
        if not report.is_chat:
            return server
        usage = played.usage
        waited = call.first_chunk - call.began if call.first_chunk else None
        return server | {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self._server.provider,
            "gen_ai.request.model": report.model or None,
            "gen_ai.request.stream": report.streams or None,
            "gen_ai.response.id": played.id[:LONGEST_TEXT] or None,
            "gen_ai.response.model": played.model[:LONGEST_TEXT] or None,
            "gen_ai.response.finish_reasons": played.finish and (played.finish[:LONGEST_TEXT],),
            "gen_ai.response.time_to_first_chunk": waited,
            "gen_ai.usage.input_tokens": usage and usage.prompt,
            "gen_ai.usage.output_tokens": usage and usage.completion,
            "gen_ai.usage.cache_read.input_tokens": usage and usage.cached,
            "gen_ai.usage.reasoning.output_tokens": usage and usage.reasoning,
        }

    def _span(
        self,
        name: str,
        ids: tuple[str, str],
        parent: Context,
        kind: SpanKind,
        attributes: Attributes,
        began: int,
    ) -> otel.Span:
        self._ids.next_trace, self._ids.next_span = ids
        return self._tracer.start_span(name, parent, kind, _said(attributes), start_time=began)


class _Ids(IdGenerator):
    """The ids that were given out while the request was served."""

    next_trace = ""
    next_span = ""

    def generate_trace_id(self) -> int:
        return int(self.next_trace, 16)

    def generate_span_id(self) -> int:
        return int(self.next_span or token_hex(8), 16)


def _parent(report: Report) -> Context:
    trace = report.trace
    if not trace.parent:
        return Context()
    context = otel.SpanContext(
        int(trace.trace_id, 16),
        int(trace.parent, 16),
        is_remote=True,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
        trace_state=TraceState.from_header([trace.state]),
    )
    return otel.set_span_in_context(otel.NonRecordingSpan(context), Context())


def _name(report: Report) -> str:
    return f"{report.method} /v1/chat/completions" if report.is_chat else report.method


def _request_attributes(report: Report) -> Attributes:
    offered, sent = (report.tools[1], report.tools[0]) if report.tools else (None, None)
    return {
        "http.request.method": report.method,
        "http.response.status_code": report.status or None,
        "url.path": report.path[:LONGEST_TEXT],
        "toolfold.request.id": report.id,
        "toolfold.tenant": report.tenant or None,
        "toolfold.decision": report.decision,
        "toolfold.reason": report.reason,
        "toolfold.tools.offered": offered,
        "toolfold.tools.sent": sent,
        "toolfold.tokens.saved": report.saved,
        "toolfold.search.rounds": report.searches,
        "error.type": report.error,
    }


def _events(report: Report) -> Iterator[tuple[str, Attributes]]:
    if report.has_tools and report.advertised is not None:
        yield "tools_advertised", dict(report.advertised._asdict())
    for call in report.discoveries:
        ranks: Attributes = {f"rank.{ranker}": rank for ranker, rank in call.ranks.items()}
        name = call.name[:LONGEST_TEXT]
        yield "deferred_tool_call", {"tool": name, "discovered_via": call.via} | ranks


def _error(call: Call) -> str | None:
    return call.error or (str(call.status) if call.status >= 400 else None)


def _end(span: otel.Span, at: int, error: str | None) -> None:
    if error:
        span.set_status(Status(StatusCode.ERROR))
    span.end(at)


def _at(report: Report, moment: float) -> int:
    """Nanoseconds of the epoch."""
    return int((report.at + moment - report.began) * 1e9)


def _said(attributes: Attributes) -> dict[str, AttributeValue]:
    return {name: value for name, value in attributes.items() if value is not None}
