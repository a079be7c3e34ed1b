"""What is said about a request."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.builders import body, call, numbered, reply, search
from tests.conftest import start_proxy
from tests.test_disconnect import caller
from tests.upstream import Raw


def line(logs: list[Any]) -> Any:
    [found] = [entry for entry in logs if entry["event"] == "request"]
    return found


async def test_a_folded_request_is_one_line_and_one_for_each_deferred_call() -> None:
    script = [reply(search("s1", "weather")), reply(call("c1", "get_weather", {"city": "Oslo"}))]
    with capture_logs() as logs:
        async with start_proxy(*script) as proxy:
            response = await proxy.post(body(text="a secret question"))
    said = line(logs)
    assert (said["decision"], said["reason"], said["status"]) == ("folded", "mode-on", 200)
    assert (said["rounds"], said["searches"], said["tools"]) == (2, 1, (1, 19))
    assert said["request_id"] == response.headers["x-toolfold-request-id"]
    [found] = [entry for entry in logs if entry["event"] == "deferred_tool_call"]
    assert (found["tool"], found["discovered_via"]) == ("get_weather", "search")
    assert not any(word in str(logs) for word in ("secret", "Oslo", "Bearer"))


async def test_a_refusal_is_its_status_and_a_relay_its_reason() -> None:
    with capture_logs() as logs:
        async with start_proxy(429) as proxy:
            await proxy.post(body())
    assert (line(logs)["status"], line(logs)["error"]) == (429, "Refused")
    with capture_logs() as logs:
        async with start_proxy(reply("Hi"), mode="auto") as proxy:
            await proxy.post(body(numbered(3)))
    assert (line(logs)["decision"], line(logs)["reason"]) == ("relayed", "few-tokens")


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_hangs_up_before_the_head_has_no_status(stream: bool) -> None:
    with capture_logs() as logs:
        async with start_proxy(Raw(before_head=asyncio.Event())) as proxy:
            async with caller(proxy.url, body(stream=stream)):
                await proxy.upstream.arrived.wait()
            async with asyncio.timeout(10):
                await proxy.upstream.closed.wait()
    assert (line(logs)["status"], line(logs)["error"]) == (0, "client_gone")


def events(logs: list[Any], name: str) -> list[Any]:
    return [entry for entry in logs if entry["event"] == name]


FOUND_AND_CALLED = [
    reply(search("s1", "weather in a city", "quantum")),
    reply(call("c1", "get_weather", {"city": "Oslo"})),
]


async def test_a_search_says_who_ranked_and_what_the_others_would_have_said() -> None:
    with capture_logs() as logs:
        async with start_proxy(*FOUND_AND_CALLED, ranker_mode="compare", limit=1) as proxy:
            await proxy.post(body())
    [found] = events(logs, "tool_searched")
    assert (found["call_id"], found["ranker"], found["fallback"]) == ("s1", "lexical", None)
    assert (found["queries"], found["unmatched"]) == (2, 1)
    assert found["matched"] == ("get_weather",)
    assert found["shadow"] == {"bm25": ["get_weather"]}
    assert found["confidence"] > 0
    assert "quantum" not in str(logs)


async def test_what_was_searched_for_is_written_where_that_is_allowed() -> None:
    with capture_logs() as logs:
        async with start_proxy(*FOUND_AND_CALLED, capture=True) as proxy:
            await proxy.post(body())
    [found] = events(logs, "tool_searched")
    assert (found["queries"], found["unmatched"]) == (["weather in a city", "quantum"], ["quantum"])


async def test_a_call_says_how_every_ranker_had_ranked_its_tool_once() -> None:
    """Recall without labels: also when the call comes with a later request."""
    mixed = reply(search("s1", "refund payment"), call("c1", "get_weather", {"city": "Oslo"}))
    later = reply(call("c2", "stripe__refund_payment", {"payment": "p", "cents": 1}))
    with capture_logs() as logs:
        async with start_proxy(mixed, later, later, ranker_mode="compare") as proxy:
            messages = [{"role": "user", "content": "Refund it if it rains"}]
            for answer in ("Rain", "Done", ""):
                response = await proxy.post(body(messages=messages))
                said = response.json()["choices"][0]["message"]
                [called] = said["tool_calls"]
                messages += [
                    said,
                    {"role": "tool", "tool_call_id": called["id"], "content": answer},
                ]
    calls = [
        (e["tool"], e["discovered_via"], e["ranks"]) for e in events(logs, "deferred_tool_call")
    ]
    assert calls == [
        ("get_weather", "manifest", {}),
        ("stripe__refund_payment", "search", {"lexical": 1, "bm25": 1}),
        ("stripe__refund_payment", "search", {}),
    ]
