"""Real servers' bytes through Toolfold, streamed and buffered: the protocol holds whatever they
send. What their models say is never the point."""

import json
from typing import Any

import pytest

from app.core.codec import Json
from tests.builders import body, dumps, reply, request
from tests.conftest import start_proxy
from tests.live.recorded import ALL, REFUSED, TAKEN, TOOLS, Recorded, objects, reply_of
from tests.quirks.seen import seen

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
STRATEGIES = pytest.mark.parametrize("strategy", ["promote", "wrap"])
SERVERS = {
    "llama.cpp b11434": ("t1_auto", "t2_auto", "t3_auto"),
    "LiteLLM 1.108.7": ("t1_auto", "t2_auto", "t3_auto"),
    "vLLM 0.32.0": ("t1_required", "t2_required", "notools"),
}


def said(one: Recorded) -> tuple[str, list[str], bool]:
    """The words of a recording, the names that it calls, and whether it says an error."""
    text, names, failed = "", list[str](), False
    for whole in objects(one):
        failed = failed or "error" in whole
        for choice in whole.get("choices", []):
            message = choice.get("message") or choice.get("delta") or {}
            text += message.get("content") or ""
            calls = message.get("tool_calls") or []
            called = [(c.get("function") or {}).get("name") for c in calls]
            names += [name for name in called if name and name not in names[-1:]]
    return text, names, failed


def test_five_servers_are_heard() -> None:
    assert len({one.server for one in ALL}) == 5
    assert len(TAKEN) > 80


@pytest.mark.parametrize("one", TAKEN, ids=[one.id for one in TAKEN])
async def test_what_a_server_says_reaches_the_client(one: Recorded) -> None:
    """In the recording's own framing. A search is answered; then the upstream says `Done.`"""
    text, names, failed = said(one)
    async with start_proxy(one.raw, reply("Done.")) as proxy:
        response = await proxy.post(body(TOOLS, stream=one.is_stream))
        rounds = len(proxy.upstream.received)

    told = seen(response)
    assert b'"tool_search"' not in response.content or '"tool_search"' in text
    if failed or not one.raw.body:  # llama.cpp's error in a stream, an empty body of another
        assert (len(told.errors), response.status_code) in ((1, 200), (1, 502)) or (
            (rounds, text, names, told.text) == (2, "", [], "Done.")  # the client's own request
        )
        return
    searched = "tool_search" in names
    assert told.text == text + ("Done." if rounds > 1 and searched else "") or rounds > 1
    assert told.text.startswith(text)
    assert rounds == 1 or searched or set(names) - {"get_weather", "calc_add", "ping"}
    assert (len(told.finishes), told.done) == (1, 1)
    assert len(told.ids) == 1
    assert not one.is_stream or len(told.roles) == 1
    assert rounds > 1 or [call[1] for call in told.calls] == names


@pytest.mark.parametrize("one", TAKEN, ids=[one.id for one in TAKEN])
async def test_a_relayed_reply_keeps_its_bytes(one: Recorded) -> None:
    async with start_proxy(one.raw, mode="off") as proxy:
        response = await proxy.post(body(TOOLS, stream=one.is_stream))

    assert response.content == one.raw.body


@pytest.mark.parametrize("one", REFUSED, ids=[one.id for one in REFUSED])
@FRAMINGS
async def test_a_refusal_of_what_the_client_sent_is_passed_on(one: Recorded, stream: bool) -> None:
    """Contexts, choices, counts, types of tools: at most the client's own request is tried."""
    async with start_proxy(one.raw) as proxy:
        response = await proxy.post(body(TOOLS, stream=stream))

    assert (response.status_code, response.content) == (one.raw.status, one.raw.body)
    own = b"does not match the expected" in one.raw.body  # what its model said, not the client
    assert len(proxy.upstream.received) <= 2
    if (one.raw.status >= 500 or "overflow" in one.name or "choice" in one.name) and not own:
        assert len(proxy.upstream.received) == 1


@STRATEGIES
@FRAMINGS
@pytest.mark.parametrize("server", SERVERS)
async def test_a_recorded_conversation_ends_well(server: str, stream: bool, strategy: str) -> None:
    """Search, call, answer, as real models on real servers made them."""
    search, call, answer = (reply_of(server, name, stream=stream) for name in SERVERS[server])
    async with start_proxy(search, call, answer, strategy=strategy) as proxy:
        asked: dict[str, Any] = request(TOOLS, "What is the weather in Paris?", stream=stream)
        first = seen(await proxy.post(dumps(asked)))
        ((identifier, name, arguments),) = first.calls
        made: Json = {
            "id": identifier,
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        asked["messages"] += [
            {"role": "assistant", "content": first.text or None, "tool_calls": [made]},
            {"role": "tool", "tool_call_id": identifier, "content": '{"temperature": 17}'},
        ]
        second = seen(await proxy.post(dumps(asked)))

    one, two, three = proxy.upstream.requests
    assert (name, json.loads(arguments)["city"]) == ("get_weather", "Paris")
    assert first.finishes[0] in ("tool_calls", "stop")
    assert second.text
    assert not second.calls
    assert three["messages"][: len(one["messages"])] == one["messages"]
    assert three["messages"][: len(two["messages"])] == two["messages"]
    assert three["tools"] == two["tools"]
    ids = [c["id"] for m in three["messages"] for c in m.get("tool_calls", [])]
    assert len(ids) == 2
    assert [m["tool_call_id"] for m in three["messages"] if m["role"] == "tool"] == ids
