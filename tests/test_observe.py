"""The mode `observe`: what folding would have sent is said, and nothing is changed."""

from typing import Any

import pytest
import structlog

from tests.builders import body, numbered, reply, tool
from tests.conftest import start_proxy

BIG = [tool(f"crm__read_{n:03}", "Reads one of many things. " * 9, id="string") for n in range(99)]


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
async def test_nothing_is_changed_and_what_would_have_been_is_said(stream: bool) -> None:
    raw = body(BIG, stream=stream)
    with structlog.testing.capture_logs() as logs:
        async with start_proxy(reply("ok"), mode="observe") as proxy:
            observed = await proxy.post(raw)
        async with start_proxy(reply("ok"), mode="auto") as other:
            folded = await other.post(raw)

    assert proxy.upstream.received[0].body == raw
    assert observed.headers["x-toolfold-decision"] == "observed"
    assert folded.headers["x-toolfold-decision"] == "folded"
    for name in ("reason", "tools", "tokens"):
        assert observed.headers[f"x-toolfold-{name}"] == folded.headers[f"x-toolfold-{name}"]
    line = next(one for one in logs if one["event"] == "request")
    assert (line["decision"], line["reason"]) == ("observed", "saves-tokens")


RELAYED: dict[str, tuple[bytes, str]] = {
    "too little to gain": (body(), "few-tokens"),
    "no tools": (body([]), "no-tools"),
    "no JSON": (b"{", "not-json"),
    "too many tools, one of them twice": (
        body([*numbered(129), numbered(1)[0]]),
        "tools-malformed",
    ),
    "too many tools and several choices": (body(numbered(129), n=2), "several-choices"),
}


@pytest.mark.parametrize(("raw", "reason"), RELAYED.values(), ids=RELAYED)
async def test_what_would_not_be_folded_says_so(raw: bytes, reason: str) -> None:
    async with start_proxy(reply("ok"), mode="observe") as proxy:
        response = await proxy.post(raw)

    assert response.headers["x-toolfold-decision"] == "relayed"
    assert response.headers["x-toolfold-reason"] == reason
    assert proxy.upstream.received[0].body == raw


async def test_a_request_may_ask_for_it() -> None:
    given: dict[str, Any] = {"X-Toolfold-Mode": "observe"}
    async with start_proxy(reply("ok"), mode="auto") as proxy:
        response = await proxy.post(body(BIG), **given)

    assert response.headers["x-toolfold-decision"] == "observed"
    assert proxy.upstream.received[0].body == body(BIG)
