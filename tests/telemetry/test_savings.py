"""C54: savings add up. Header = log = metric; every round is charged; nothing is shown that is
not known."""

from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from app.core.codec import Json
from tests.builders import body, numbered, reply, search
from tests.conftest import Proxy, start_proxy
from tests.telemetry.conversations import FOUND_AND_CALLED, ask, ended, value
from tests.upstream import Raw

COUNTERS = (
    "toolfold_tool_tokens_offered_total",
    "toolfold_tool_tokens_sent_total",
    "toolfold_search_round_tokens_total",
)


async def net(proxy: Proxy) -> float:
    offered, sent, searching = [await value(proxy, name) for name in COUNTERS]
    return offered - sent - searching


def line(logs: list[Any]) -> Any:
    return [entry for entry in logs if entry["event"] == "request"][-1]


def without_usage(completion: Json) -> Json:
    return {**completion, "usage": None}


async def test_header_log_metric_and_page_say_the_same() -> None:
    with capture_logs() as logs:
        async with start_proxy(*FOUND_AND_CALLED) as proxy:
            response = await ask(proxy)
            counted = await net(proxy)
            shown = proxy.telemetry.stats()["totals"]
    said = line(logs)
    sent, offered = map(int, response.headers["x-toolfold-tokens"].split("/"))
    extra = 1 + 30  # the first completion and the second prompt, as the builders count
    assert said["search_tokens"] == extra
    assert int(response.headers["x-toolfold-saved"]) == offered - sent - extra
    assert said["saved"] == counted == shown["tokens_saved"] == offered - sent - extra
    assert said["usage"] == {"prompt": 40, "completion": 4, "cached": 4, "reasoning": None}
    assert response.json()["usage"]["prompt_tokens"] == 40


async def test_savings_may_be_negative() -> None:
    long = [reply(search("s1", "weather"), n=10_000), reply("Done.", n=10_000)]
    async with start_proxy(*long) as proxy:
        response = await ask(proxy)
        counted = await net(proxy)
    assert int(response.headers["x-toolfold-saved"]) == counted < -100_000


@pytest.mark.parametrize(
    "script",
    [
        [reply(search("s1", "x")), without_usage(reply("Done."))],
        [without_usage(reply(search("s1", "x"))), reply("Done.")],
        [reply(search("s1", "x")), 500],
        [500],
        [Raw(b'data: {"choices": []}\n\n', cut=True)],
    ],
    ids=["last", "first", "failed-later", "refused", "cut-off"],
)
async def test_what_is_not_known_is_not_shown(script: list[Any]) -> None:
    with capture_logs() as logs:
        async with start_proxy(*script) as proxy:
            response = await ask(proxy)
            counted = [await value(proxy, name) for name in COUNTERS]
            unknown = await value(proxy, "toolfold_savings_unknown_total")
    assert "x-toolfold-saved" not in response.headers
    assert line(logs)["saved"] is None
    assert (counted, unknown) == ([0, 0, 0], 1)


async def test_one_round_needs_no_usage_to_be_known() -> None:
    async with start_proxy(without_usage(reply("Hi"))) as proxy:
        response = await ask(proxy)
        counted = await net(proxy)
    sent, offered = map(int, response.headers["x-toolfold-tokens"].split("/"))
    assert int(response.headers["x-toolfold-saved"]) == counted == offered - sent > 0


async def test_a_stream_says_it_in_the_log_since_its_head_is_too_early() -> None:
    with capture_logs() as logs:
        async with start_proxy(*FOUND_AND_CALLED) as proxy:
            response = await ask(proxy, stream=True)
            counted = await net(proxy)
    assert "x-toolfold-saved" not in response.headers
    assert line(logs)["saved"] == counted
    assert line(logs)["search_tokens"] == 31


async def test_a_stream_that_breaks_off_has_saved_nothing_that_is_known() -> None:
    broken = Raw(
        b'data: {"id": "u", "choices": [{"index": 0, "delta": {"content": "a"}}]}\n\n'
        b'data: {"error": {"message": "overloaded"}}\n\n'
    )
    with capture_logs() as logs:
        async with start_proxy(broken) as proxy:
            await ask(proxy, stream=True)
            assert await value(proxy, "toolfold_savings_unknown_total") == 1
    assert (line(logs)["status"], line(logs)["error"], line(logs)["saved"]) == (200, "Erred", None)


async def test_a_relayed_request_saves_nothing() -> None:
    with capture_logs() as logs:
        async with start_proxy(reply("Hi"), mode="auto") as proxy:
            response = await proxy.post(body(numbered(3)))
            assert await net(proxy) == 0
    assert "x-toolfold-saved" not in response.headers
    assert line(logs)["saved"] == 0


ROUND = st.tuples(st.integers(0, 5_000), st.integers(0, 5_000), st.booleans())


@settings(max_examples=15, phases=(Phase.generate,))
@given(rounds=st.lists(ROUND, min_size=1, max_size=4), stream=st.booleans())
async def test_many_requests_add_up(rounds: list[tuple[int, int, bool]], stream: bool) -> None:
    """Whatever upstreams report: the metrics are the sum of the log lines."""
    script = []
    for at, (prompt, completion, reports) in enumerate(rounds):
        last = at == len(rounds) - 1
        said = reply("Done.") if last else reply(search(f"s{at}", f"tool {at}"))
        said["usage"] = {"prompt_tokens": prompt, "completion_tokens": completion}
        script.append(said if reports else without_usage(said))
    with capture_logs() as logs:
        async with start_proxy(*script, *script, max_searches=20) as proxy:
            for _ in range(2):
                response = await ask(proxy, stream=stream)
            await ended(proxy)
            counted, unknown = (
                await net(proxy),
                await value(proxy, "toolfold_savings_unknown_total"),
            )
    lines = [entry for entry in logs if entry["event"] == "request"]
    known = [entry["saved"] for entry in lines if entry["saved"] is not None]
    assert counted == sum(known)
    assert unknown == len(lines) - len(known)
    assert (unknown == 0) == (len(rounds) == 1 or all(reports for _, _, reports in rounds))
    if not stream and known:
        assert response.headers["x-toolfold-saved"] == str(known[-1])
    if len(rounds) > 1 and known:
        extra = sum(p + c for p, c, _ in rounds) - rounds[0][0] - rounds[-1][1]
        assert lines[0]["search_tokens"] == extra
