"""Prometheus metrics: the events of a request, labels from closed sets."""

import asyncio
import shutil
import subprocess
from collections import Counter
from typing import Any

import httpx2
import pytest

from app.admin import create_admin
from app.core.bill import Played
from app.core.verdict import Discovery
from app.telemetry import Report
from app.telemetry.instruments import COUNTERS, GAUGES, HISTOGRAMS
from app.telemetry.labels import Closed, FirstSeen, code_class
from app.telemetry.metrics import Metrics, endpoint
from app.telemetry.provider import provider_of
from app.telemetry.report import Advertised
from app.trace import Trace
from tests.builders import body, numbered, reply
from tests.conftest import start_proxy
from tests.telemetry.conversations import FOUND_AND_CALLED, ask, ended, samples, value
from tests.test_disconnect import caller
from tests.upstream import Raw

DURATION = "gen_ai_client_operation_duration_seconds_count"


def report(**said: object) -> Report:
    made = Report("/v1/chat/completions", trace=Trace(), is_chat=True)
    for name, what in said.items():
        setattr(made, name, what)
    return made


def metrics(*tenants: str, most_tenants: int = 100, most_models: int = 5) -> Metrics:
    return Metrics(tenants, most_tenants=most_tenants, most_models=most_models, provider="openai")


def told(metrics: Metrics, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    """The samples of a name by these labels."""
    found = (s for s in samples(metrics.text()) if s[0] == name)
    return {tuple(said[label] for label in labels): number for _, said, number in found}


async def test_the_events_of_a_request_are_counted() -> None:
    async with start_proxy(*FOUND_AND_CALLED, ranker_mode="compare") as proxy:
        await ask(proxy)
        for name, labels, right in [
            (
                "toolfold_requests_total",
                {"tenant": "", "decision": "folded", "reason": "mode-on", "code_class": "2xx"},
                1,
            ),
            ("toolfold_searches_total", {"result": "hit"}, 1),
            ("toolfold_unmatched_queries_total", {}, 1),
            ("toolfold_deferred_tool_calls_total", {"discovered_via": "search"}, 1),
            ("toolfold_found_rank_total", {"ranker": "lexical", "rank": "1"}, 1),
            ("toolfold_found_rank_total", {"ranker": "bm25"}, 1),
            ("toolfold_search_rounds_sum", {}, 1),
            ("toolfold_tools_offered_sum", {}, 19),
            ("toolfold_tools_sent_sum", {}, 1),
            ("toolfold_cached_tokens_total", {"gen_ai_request_model": "m"}, 4),
            ("gen_ai_client_token_usage_sum", {"gen_ai_token_type": "input"}, 40),
            ("gen_ai_client_token_usage_sum", {"gen_ai_token_type": "output"}, 4),
            ("gen_ai_client_operation_duration_seconds_count", {"error_type": ""}, 2),
            ("gen_ai_client_operation_time_to_first_chunk_seconds_count", {}, 2),
            ("gen_ai_execute_tool_duration_seconds_count", {"ranker": "lexical"}, 1),
            ("toolfold_request_overhead_seconds_count", {"decision": "folded"}, 1),
            ("toolfold_inflight_requests", {}, 0),
        ]:
            assert await value(proxy, name, **labels) == right, name


@pytest.mark.parametrize("status", [429, 500])
async def test_a_refusal_is_an_error_of_the_upstream_and_its_status_the_clients(
    status: int,
) -> None:
    async with start_proxy(status) as proxy:
        await ask(proxy)
        assert await value(proxy, DURATION, error_type=str(status)) == 1
        assert await value(proxy, "toolfold_requests_total", code_class=f"{status // 100}xx") == 1


async def test_a_client_that_hangs_up_is_counted_by_its_phase_and_leaves_nothing() -> None:
    async with start_proxy(Raw(before_head=asyncio.Event())) as proxy:
        async with caller(proxy.url, body()):
            await proxy.upstream.arrived.wait()
            assert (
                next(
                    v
                    for n, _, v in samples(proxy.telemetry.metrics.text())
                    if n == "toolfold_inflight_requests"
                )
                == 1
            )
        async with asyncio.timeout(10):
            await proxy.upstream.closed.wait()
            assert await value(proxy, "toolfold_client_disconnects_total", phase="ttfb") == 1
        assert await value(proxy, "toolfold_inflight_requests") == 0


def phases() -> dict[str, Report]:
    begun = Trace()
    begun.call()
    return {
        "parse": report(),
        "ttfb": report(trace=begun, rounds=1),
        "search": report(trace=begun, rounds=2, searches=1),
        "stream": report(trace=begun, rounds=1, status=200),
    }


@pytest.mark.parametrize(("phase", "one"), phases().items(), ids=phases())
def test_the_phase_is_how_far_it_had_come(phase: str, one: Report) -> None:
    assert one.phase == phase


def test_a_rank_behind_the_fifth_is_one_label_and_a_miss_another() -> None:
    made = metrics()
    ranks = [1, 5, 6, 40, 0]
    made.tell(report(discoveries=[Discovery("t", "search", {"bm25": rank}) for rank in ranks]))
    assert told(made, "toolfold_found_rank_total", "ranker", "rank") == {
        ("bm25", "1"): 1,
        ("bm25", "5"): 1,
        ("bm25", "6+"): 2,
        ("bm25", "missed"): 1,
    }


def test_what_the_edge_and_the_policy_refuse_is_counted() -> None:
    made = metrics()
    made.tell(report(turned_away="overloaded", status=503))
    made.tell(report(ignored_headers=3))
    made.reloaded(True)
    made.reloaded(False)
    assert told(made, "toolfold_shed_total", "reason") == {("overloaded",): 1}
    assert told(made, "toolfold_policy_header_rejected_total", "reason") == {("untrusted",): 3}
    assert told(made, "toolfold_config_reloads_total", "result") == {
        ("success",): 1,
        ("failure",): 1,
    }


def test_labels_are_closed() -> None:
    closed = Closed(["a", "b", "c"], most=2)
    assert [closed(value) for value in "abcd"] == ["a", "b", "other", "other"]
    seen = FirstSeen(2)
    assert seen.known("a") == "other"
    assert [seen(value) for value in "abcab"] == ["a", "b", "other", "a", "b"]
    assert [code_class(s) for s in (0, 200, 404, 503, 999)] == ["none", "2xx", "4xx", "5xx", "none"]


def test_junk_of_clients_makes_no_series() -> None:
    """C52: 5,000 models, tenants, paths and statuses; each unknown one is `other`."""
    made = metrics(*(f"tenant-{n}" for n in range(500)), most_tenants=10, most_models=10)
    for n in range(5_000):
        trace = Trace()
        called = trace.call()
        called.status = 200 if n % 2 else 404
        played = [Played(f"id-{n}", f"answered-{n}", f"finish-{n}")]
        junk = {"tenant": f"tenant-{n}", "model": f"model-{n}", "path": f"/v1/{n}/responses"}
        beside: dict[str, Any] = {
            "trace": trace,
            "unfolded": 9_000,
            "reason": f"reason-{n}",
            "played": played,
        }
        beside |= {"tools": (1, 2), "tokens": (1, 2), "advertised": Advertised(1, 1, 9)}
        made.tell(report(status=100 + n % 500, **junk, **beside))
    series = Counter(name for name, _, _ in samples(made.text()))
    requests = [
        labels for name, labels, _ in samples(made.text()) if name == "toolfold_requests_total"
    ]
    assert {labels["tenant"] for labels in requests} == {f"tenant-{n}" for n in range(10)} | {
        "other"
    }
    models = told(made, DURATION, "gen_ai_request_model")
    assert {model for (model,) in models} == {f"model-{n}" for n in range(1, 20, 2)} | {"other"}
    assert series.total() < 2_000


def test_a_model_that_no_upstream_answers_for_takes_nobodys_place() -> None:
    made = metrics(most_models=1)
    for status, model in [(404, "junk"), (200, "real"), (200, "late"), (404, "real")]:
        trace = Trace()
        trace.call().status = status
        made.tell(report(trace=trace, model=model))
    seen = told(made, DURATION, "gen_ai_request_model")
    assert {model for (model,) in seen} == {"real", "other"}


async def test_another_endpoint_with_many_tools_is_counted() -> None:
    async with start_proxy(reply("x")) as proxy:
        await proxy.post(body(numbered(100, 200)), "/responses")
        await proxy.post(body(numbered(3)), "/responses")
        assert await value(proxy, "toolfold_unfolded_tools_total", endpoint="responses") == 1
        assert (await value(proxy, "toolfold_alarm", alarm="tools_unfolded")) == 1


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/responses", "responses"),
        ("/v1/threads/t/runs/", "runs"),
        ("/v1/openai/deployments/secret/messages", "messages"),
        ("/v1/anything/else", "other"),
    ],
)
def test_an_endpoint_is_one_of_a_few(path: str, name: str) -> None:
    assert endpoint(path) == name


@pytest.mark.parametrize(
    ("url", "provider"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://x.openai.azure.com/openai", "azure.ai.openai"),
        ("https://api.groq.com/openai/v1", "groq"),
        ("http://127.0.0.1:8000/v1", "openai"),
        ("https://nogroq.com/v1", "openai"),
    ],
)
def test_the_provider_is_told_by_its_host(url: str, provider: str) -> None:
    assert provider_of(url) == provider


async def test_the_admin_port_serves_them_and_the_data_port_does_not() -> None:
    async with start_proxy(*FOUND_AND_CALLED) as proxy:
        await ask(proxy)
        await ended(proxy)
        transport = httpx2.ASGITransport(app=create_admin(lambda: True, proxy.telemetry))
        async with httpx2.AsyncClient(transport=transport, base_url="http://admin") as admin:
            page = await admin.get("/metrics")
            shown = await admin.get("/stats.json")
        assert page.headers["content-type"].startswith("text/plain; version=")
        assert b"toolfold_requests_total" in page.content
        assert shown.json()["totals"]["requests"] == 1
        assert shown.headers["content-security-policy"] == "default-src 'none'"
        root = proxy.url.removesuffix("/v1")
        for path in ("/metrics", "/stats.json", "/ui", "/debug", "/v1/../metrics"):
            assert (await proxy.client.get(root + path)).status_code == 404


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is in Debian's prometheus")
def test_promtool_finds_nothing_to_say() -> None:
    made = metrics("acme")
    calls = Trace()
    calls.call().receive()
    made.tell(report(trace=calls, turned_away="x", ignored_headers=1, unfolded=9_000))
    page = made.text()
    done = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_every_metric_says_what_it_is() -> None:
    page = metrics().text().decode()
    for name, (text, *_) in {**COUNTERS, **HISTOGRAMS, **GAUGES}.items():
        exported = f"{name}_total" if name in COUNTERS else name
        assert f"# HELP {exported} {text}\n" in page
    assert "_created" not in page
    assert "toolfold_build_info{version=" in page
