"""C53: OpenTelemetry spans by the GenAI conventions; the context goes on to the upstream."""

import asyncio
import socket
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from app.main import create_telemetry
from app.settings import Settings
from app.telemetry.metrics import Metrics
from app.telemetry.recent import Recent
from app.telemetry.spans import Server, Spans, exporter
from app.telemetry.telemetry import Telemetry
from tests.builders import body, call, numbered, reply, search
from tests.conftest import Proxy, start_proxy
from tests.telemetry.conversations import FOUND_AND_CALLED, ask, ended
from tests.upstream import Raw, upstream

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GIVEN = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=1"}


class Collected(Telemetry):
    """A telemetry whose spans are kept."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        server = Server("openai", "upstream.example", 443)
        metrics = Metrics(most_tenants=1, most_models=1, provider="openai")
        spans = Spans(SimpleSpanProcessor(self.exporter), server)
        super().__init__(metrics, Recent(), 100, spans)

    async def spans(self, proxy: Proxy) -> dict[str, ReadableSpan]:
        """By name; of several with one name the first."""
        await ended(proxy)
        found: dict[str, ReadableSpan] = {}
        for span in self.exporter.get_finished_spans():
            found.setdefault(span.name, span)
        return found


def said(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def ids(span: ReadableSpan) -> tuple[str, str]:
    context = span.get_span_context()
    assert context is not None
    return f"{context.trace_id:032x}", f"{context.span_id:016x}"


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
async def test_a_request_is_a_server_span_with_its_calls_and_searches_below(stream: bool) -> None:
    told = Collected()
    async with start_proxy(*FOUND_AND_CALLED, telemetry=told) as proxy:
        members: dict[str, Any] = {"stream_options": {"include_usage": True}} if stream else {}
        response = await proxy.post(body(stream=stream, **members), **GIVEN)
        spans = await told.spans(proxy)
    whole = spans["POST /v1/chat/completions"]
    assert whole.kind is SpanKind.SERVER
    assert ids(whole)[0] == TRACE
    assert f"{whole.parent.span_id:016x}" == PARENT if whole.parent else False
    assert whole.parent is not None
    assert whole.parent.trace_state.to_header() == "vendor=1"
    attributes = said(whole)
    assert attributes["http.response.status_code"] == 200
    assert attributes["toolfold.decision"] == "folded"
    assert (attributes["toolfold.tools.offered"], attributes["toolfold.tools.sent"]) == (19, 1)
    assert attributes["toolfold.search.rounds"] == 1
    assert attributes["toolfold.request.id"] == response.headers["x-toolfold-request-id"]
    events = {event.name: dict(event.attributes or {}) for event in whole.events}
    assert events["tools_advertised"]["deferred"] == 19
    assert events["deferred_tool_call"] == {
        "tool": "get_weather",
        "discovered_via": "search",
        "rank.lexical": 1,
    }

    children = [s for s in told.exporter.get_finished_spans() if s is not whole]
    assert [s.name for s in children] == ["chat m", "chat m", "execute_tool tool_search"]
    for child in children:
        assert child.parent is not None
        assert f"{child.parent.span_id:016x}" == ids(whole)[1]
        assert ids(child)[0] == TRACE
        assert whole.start_time <= child.start_time <= child.end_time <= whole.end_time  # type: ignore[operator]
    chat = said(children[1])
    assert children[1].kind is SpanKind.CLIENT
    assert chat["gen_ai.operation.name"] == "chat"
    assert chat["gen_ai.provider.name"] == "openai"
    assert (chat["gen_ai.request.model"], chat["gen_ai.response.model"]) == ("m", "m")
    assert chat["gen_ai.response.id"] == "chatcmpl-3"
    assert chat["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert chat["gen_ai.usage.input_tokens"] == 30
    assert chat["gen_ai.usage.output_tokens"] == 3
    assert chat["gen_ai.usage.cache_read.input_tokens"] == 3
    assert chat.get("gen_ai.request.stream", False) is stream
    assert chat["gen_ai.response.time_to_first_chunk"] > 0
    assert (chat["server.address"], chat["server.port"]) == ("upstream.example", 443)
    searched = said(children[2])
    assert children[2].kind is SpanKind.INTERNAL
    assert searched["gen_ai.tool.name"] == "tool_search"
    assert searched["gen_ai.tool.type"] == "extension"
    assert searched["gen_ai.tool.call.id"] == "s1"
    assert searched["toolfold.search.matched"][0] == "get_weather"

    for at, received in enumerate(proxy.upstream.received):
        trace, span = ids(children[at])
        assert received.header("traceparent") == [f"00-{trace}-{span}-01"]
        assert received.header("tracestate") == ["vendor=1"]


async def test_a_relayed_request_has_a_call_too() -> None:
    told = Collected()
    async with start_proxy(reply("x"), telemetry=told, mode="auto") as proxy:
        await proxy.post(body(numbered(2)), **GIVEN)
        await proxy.client.get(proxy.url + "/models", headers=GIVEN)
        spans = await told.spans(proxy)
    assert set(spans) == {"POST /v1/chat/completions", "chat m", "GET"}
    assert said(spans["chat m"])["gen_ai.request.model"] == "m"
    sent = [
        received.header("traceparent")[0].split("-")[1:3] for received in proxy.upstream.received
    ]
    assert sent[0] == list(ids(spans["chat m"]))
    assert sent[1][0] == TRACE
    assert sent[1][1] != PARENT


async def test_without_a_parent_a_trace_begins_here_and_the_log_names_it() -> None:
    told = Collected()
    async with start_proxy(reply("x"), telemetry=told) as proxy:
        await ask(proxy)
        spans = await told.spans(proxy)
    whole = spans["POST /v1/chat/completions"]
    assert whole.parent is None
    assert proxy.upstream.received[0].header("traceparent")[0].split("-")[1] == ids(whole)[0]


async def test_a_parent_that_is_not_sampled_leaves_no_spans_and_goes_on_so() -> None:
    told = Collected()
    async with start_proxy(reply("x"), telemetry=told) as proxy:
        await proxy.post(body(), traceparent=f"00-{TRACE}-{PARENT}-00")
        assert await told.spans(proxy) == {}
    sent = proxy.upstream.received[0].header("traceparent")[0]
    assert sent.startswith(f"00-{TRACE}-")
    assert sent.endswith("-00")


async def test_a_failure_is_an_error_of_both_spans() -> None:
    told = Collected()
    async with start_proxy(Raw(status=503, body=b"{}"), telemetry=told) as proxy:
        await ask(proxy)
        spans = await told.spans(proxy)
    for name in ("POST /v1/chat/completions", "chat m"):
        assert spans[name].status.status_code is StatusCode.ERROR
    assert said(spans["chat m"])["error.type"] == "503"


@pytest.mark.parametrize("capture", [False, True])
async def test_what_was_searched_for_is_there_only_where_that_is_allowed(capture: bool) -> None:
    told = Collected()
    script = [
        reply(search("s1", "s3cret-query")),
        reply(call("c1", "get_weather", {"city": "Oslo"})),
    ]
    async with start_proxy(*script, telemetry=told, capture=capture) as proxy:
        await ask(proxy, text="s3cret-question")
        spans = await told.spans(proxy)
    shown = "".join(span.to_json() for span in spans.values())
    assert "question" not in shown
    assert "Oslo" not in shown
    assert ("s3cret-query" in shown) is capture


async def test_off_by_default_and_then_the_context_goes_through_untouched() -> None:
    async with start_proxy(reply("x")) as proxy:
        await proxy.post(body(), **GIVEN)
    for name, value in GIVEN.items():
        assert proxy.upstream.received[0].header(name) == [value]


async def test_spans_reach_a_collector() -> None:
    async with (
        upstream(Raw(content_type="application/x-protobuf")) as collector,
        start_proxy(reply("x"), otlp_endpoint=collector.url) as proxy,
    ):
        await ask(proxy)
        await ended(proxy)
        await proxy.telemetry.flush()
    [received] = collector.received
    assert received.target == "/v1/v1/traces"
    assert b"POST /v1/chat/completions" in received.body
    assert b"toolfold" in received.body


async def test_the_end_waits_only_a_little_for_a_collector_that_is_mute() -> None:
    """C38, F8: the SDK would wait for half a minute."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        told = Spans(
            exporter(f"http://127.0.0.1:{mute.getsockname()[1]}"), Server("openai", "h", 1)
        )
        telemetry = create_telemetry(Settings())
        report = telemetry.begin({"path": "/v1/x", "method": "POST", "headers": []})
        report.trace.trace_id, report.trace.span_id = TRACE, PARENT
        telemetry.end(report)
        told.tell(report)
        async with asyncio.timeout(20):
            await told.flush()


def test_the_standard_variable_names_the_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/")
    assert Settings().otlp_endpoint == "http://collector:4318"
    monkeypatch.setenv("TOOLFOLD_OTLP_ENDPOINT", "http://ours:4318")
    assert Settings().otlp_endpoint == "http://ours:4318"
    assert Settings(otlp_endpoint="http://flag:4318").otlp_endpoint == "http://flag:4318"
