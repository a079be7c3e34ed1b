"""An upstream that refuses `tools` and only writes text: apps get calls all the same."""

import json
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from openai import AsyncOpenAI

from app.core.body import Body
from app.core.codec import Json
from tests.builders import MODEL, WEATHER, body, call, dumps, events, reply, request, search
from tests.client import TURNS, Client
from tests.conftest import start_proxy
from tests.player import Framing, Records, buffered, in_pieces
from tests.upstream import Raw

DIALECTS = ["json_tag", "pformat"]
MODES = ["on", "off"]
CALL = call("c1", "get_weather", {"city": "Oslo"})
USED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "rain"}


def choice(response: httpx2.Response) -> Json:
    found: Json = response.json()["choices"][0]
    return found


def inner(made: Json) -> tuple[str, Any]:
    return made["function"]["name"], json.loads(made["function"]["arguments"])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_call_in_both_framings(dialect: str, mode: str) -> None:
    async with (
        start_proxy(reply("Look. ", CALL), dialect=dialect, mode=mode) as proxy,
        AsyncOpenAI(base_url=proxy.url, api_key="k", max_retries=0) as client,
    ):
        asked: dict[str, Any] = {
            **request(),
            "messages": [{"role": "user", "content": "Weather?"}],
        }
        message = (await client.chat.completions.create(**asked)).choices[0].message
        async with client.chat.completions.stream(**asked) as stream:
            streamed = (await stream.get_final_completion()).choices[0].message
        for one in (message, streamed):
            assert one.tool_calls
            assert inner(one.tool_calls[0].model_dump()) == ("get_weather", {"city": "Oslo"})
            assert (one.content or "").strip() == "Look."
        assert message.tool_calls
        assert streamed.tool_calls
        assert message.tool_calls[0].id == streamed.tool_calls[0].id


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_search_is_answered_inside_the_request(dialect: str) -> None:
    script = [reply(search("s1", "weather")), reply(CALL, n=2)]
    async with start_proxy(*script, dialect=dialect) as proxy:
        response = await proxy.post(body())
        assert inner(choice(response)["message"]["tool_calls"][0])[0] == "get_weather"
        assert response.json()["usage"]["total_tokens"] == 33
        assert response.headers["x-toolfold-searches"] == "1"
        _, second = proxy.upstream.requests
        block = second["messages"][0]["content"]
        assert "get_weather" in block.split("<tools>")[1]
        assert [m["role"] for m in second["messages"]] == ["system", "user", "assistant", "user"]
        assert second["messages"][2]["content"].startswith("<tool_call>")
        assert second["messages"][3]["content"].startswith('<tool_result name="tool_search"')


UNFOLDED = {
    "too little to gain": (body([WEATHER]), {"mode": "auto"}),
    "mode off": (body(), {"mode": "off"}),
    "several choices": (body(n=2), {}),
    "no choice": (body(tool_choice="none"), {"mode": "off"}),
    "history without tools": (
        dumps({"model": MODEL, "messages": [USED, RESULT, {"role": "user", "content": "So?"}]}),
        {},
    ),
}


@pytest.mark.parametrize(("raw", "settings"), UNFOLDED.values(), ids=UNFOLDED)
async def test_what_is_not_folded_is_spoken_too(raw: bytes, settings: Any) -> None:
    async with start_proxy(reply("Fine."), dialect="json_tag", **settings) as proxy:
        response = await proxy.post(raw)
        assert choice(response)["message"]["content"] == "Fine."
        assert response.headers["x-toolfold-decision"] == "relayed"
        assert response.headers["x-vendor"] == "kept"


async def test_what_has_no_tools_is_relayed_byte_for_byte() -> None:
    raw = b'{ "model": "m", "messages": [{"role":"user","content":"\\u00e9"}] }'
    async with start_proxy(reply("Fine."), dialect="json_tag") as proxy:
        assert (await proxy.post(raw)).json() == reply("Fine.")
        assert proxy.upstream.received[0].body == raw


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_refusal_keeps_its_status(mode: str, stream: bool) -> None:
    async with start_proxy(429, dialect="json_tag", mode=mode) as proxy:
        response = await proxy.post(body(stream=stream))
        assert response.status_code == 429
        assert response.headers["retry-after"] == "9"


@pytest.mark.parametrize("mode", MODES)
async def test_the_clients_mistakes_are_told(mode: str) -> None:
    named = {"type": "function", "function": {"name": "nope"}}
    wrong = {"tool_choice": named}, {"messages": [RESULT]}
    async with start_proxy(reply("Fine."), dialect="json_tag", mode=mode) as proxy:
        for members in wrong:
            for stream in (False, True):
                response = await proxy.post(body(**members, stream=stream))
                assert response.status_code == 400
                assert response.json()["error"]["type"] == "invalid_request_error"
        assert proxy.upstream.received == []


async def test_what_cannot_be_read_gets_the_upstreams_own_error() -> None:
    raw = b'{"model": "m", "messages": [1], "tools": [{"type": "function"}], "n": 1}'
    async with start_proxy(400, dialect="json_tag", mode="off") as proxy:
        assert (await proxy.post(raw)).status_code == 400


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_that_is_required_is_asked_for_again(mode: str) -> None:
    script = [reply("I would."), reply(CALL, n=2)]
    async with start_proxy(*script, dialect="json_tag", mode=mode) as proxy:
        response = await proxy.post(body(tool_choice="required"))
        assert inner(choice(response)["message"]["tool_calls"][0])[0] == "get_weather"
        assert choice(response)["message"]["content"] is None
        assert len(proxy.upstream.requests) == 2
    async with start_proxy(script[0], 500, dialect="json_tag", mode=mode) as proxy:
        response = await proxy.post(body(tool_choice="required"))
        assert choice(response)["message"]["content"] == "I would."


async def test_a_reply_that_breaks_off_is_no_reply() -> None:
    cut = Raw(
        events(*[{"choices": [{"index": 0, "delta": {"content": "Hi"}}]}], done=False), cut=True
    )
    async with start_proxy(cut, dialect="json_tag", mode="off") as proxy:
        asked = body(tool_choice="required")
        assert (await proxy.post(asked)).status_code == 502
        streamed = await proxy.post(body(stream=True))
        assert "error" in streamed.text
        assert "[DONE]" not in streamed.text


async def test_a_native_model_that_narrates_is_recovered_where_the_policy_says_so() -> None:
    told = reply('<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>')
    for mode in MODES:
        async with start_proxy(told, recover=True, mode=mode) as proxy:
            message = choice(await proxy.post(body()))["message"]
            assert inner(message["tool_calls"][0]) == ("get_weather", {"city": "Oslo"})
            assert proxy.upstream.requests[0]["tools"]
        async with start_proxy(told, mode=mode) as proxy:
            assert "tool_calls" not in choice(await proxy.post(body()))["message"]


async def test_what_is_hidden_is_not_called() -> None:
    hidden = reply(CALL)
    async with start_proxy(hidden, dialect="json_tag", hidden=("get_weather",)) as proxy:
        message = choice(await proxy.post(body()))["message"]
        assert "tool_calls" not in message
        assert "get_weather" not in json.dumps(proxy.upstream.requests)


FRAMINGS = {"buffered": buffered, "streamed": in_pieces(3)}


def calls_of(client: Client) -> list[tuple[str, Any]]:
    return [inner(made) for m in client.messages for made in m.get("tool_calls") or []]


@pytest.mark.parametrize("framing", FRAMINGS.values(), ids=FRAMINGS)
@pytest.mark.parametrize("strategy", ["promote", "wrap"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_conversation_is_the_same_in_a_dialect(
    dialect: str, strategy: str, framing: Framing
) -> None:
    native, spoken = Client(strategy, buffered, {}), Client(strategy, framing, {}, dialect)
    sent: list[bytes] = []
    turns = [turn for turn in TURNS if dialect == "json_tag" or "w1" not in str(turn)]
    for number, replies in enumerate(turns):
        native.turn(number, replies)
        sent += spoken.turn(number, replies).bodies
    assert calls_of(spoken) == calls_of(native)
    if strategy == "wrap":  # the block never changes, and what was said is only added to
        for earlier, later in pairwise(sent):
            before = (Body(earlier).get("messages") or b"").removesuffix(b"]")
            assert (Body(later).get("messages") or b"").startswith(before)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_conversation_goes_on_when_all_is_forgotten(dialect: str) -> None:
    records: Records = {}
    client = Client("promote", buffered, records, dialect)
    for number, replies in enumerate(TURNS[:8]):
        records.clear()
        client.turn(number, replies)
    assert len(calls_of(client)) == 4
