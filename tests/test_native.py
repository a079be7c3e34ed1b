"""Strategy `native`: an upstream that keeps marked tools from the model, as vLLM and SGLang
publish it. All tools are sent, and what is found is loaded in the upstream's own form.

https://github.com/vllm-project/vllm/pull/40190 (`defer_loading` with a tool or its function,
`tool_reference` parts in a tool's result) and https://github.com/sgl-project/sglang/pull/22702
(`defer_loading` alone: a loaded tool is one that is not marked any more).
"""

import json
from typing import Any

import pytest

from app.core.codec import Json
from tests.builders import CATALOG, FILLER, WEATHER, body, call, dumps, reply, request, search, tool
from tests.conftest import start_proxy
from tests.quirks.rules import refusal
from tests.quirks.seen import seen
from tests.upstream import Raw, Received, Scripted

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
SERVERS = pytest.mark.parametrize("kind", ["vllm", "sglang"])
NAMES = [one["function"]["name"] for one in CATALOG]
OSLO = call("c1", "get_weather", {"city": "Oslo"})


def visible(sent: Any) -> list[str]:
    """What the model sees declared: what is not marked, and what a result refers to."""
    plain = [t["function"]["name"] for t in sent["tools"] if not t.get("defer_loading")]
    return plain + referred(sent)


def referred(sent: Any) -> list[str]:
    parts = [m["content"] for m in sent["messages"] if m["role"] == "tool"]
    lists = [one for one in parts if isinstance(one, list)]
    return [p["name"] for one in lists for p in one if p["type"] == "tool_reference"]


def server(kind: str, *script: Json) -> Scripted:
    """A server of this kind; the prompt tokens that it reports are the tools that it shows."""
    waiting = list(script)

    def answer(received: Received) -> Json | Raw:
        sent = received.json
        known = {t["function"]["name"] for t in sent["tools"]}
        if kind == "sglang" and referred(sent):
            return refusal("messages.3.content.0.type: Input should be 'text'")
        if kind == "plain" and any("defer_loading" in t for t in sent["tools"]):
            return refusal("Unrecognized request argument supplied: defer_loading")
        if not set(referred(sent)) <= known:
            return refusal("tool_reference names a tool that is not in tools")
        said = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        usage = {**said["usage"], "prompt_tokens": len(visible(sent))}
        return {**said, "usage": usage}

    return answer


async def played(kind: str, *script: Json, stream: bool, **settings: Any) -> Any:
    members = {"strategy": "native", "upstream_profile": kind} | settings
    async with start_proxy(server(kind, *script), **members) as proxy:
        response = await proxy.post(body(stream=stream))
    return proxy.upstream, seen(response), response


@FRAMINGS
@SERVERS
async def test_all_tools_are_sent_and_the_model_sees_few(kind: str, stream: bool) -> None:
    upstream, told, response = await played(kind, reply("Hi"), stream=stream)

    sent = upstream.requests[0]
    assert told.text == "Hi"
    assert [t["function"]["name"] for t in sent["tools"]] == ["tool_search", *NAMES]
    assert visible(sent) == ["tool_search"]
    declared = [{k: v for k, v in t.items() if k != "defer_loading"} for t in sent["tools"][1:]]
    assert declared == CATALOG
    assert response.headers["x-toolfold-tools"] == f"1/{len(CATALOG)}"


@FRAMINGS
@SERVERS
async def test_what_is_found_is_loaded_in_its_own_form(kind: str, stream: bool) -> None:
    script = [reply(search("s1", "weather city")), reply(OSLO)]
    upstream, told, _ = await played(kind, *script, stream=stream)

    first, second = upstream.requests
    assert [one[:2] for one in told.calls] == [["c1", "get_weather"]]
    assert "get_weather" in visible(second)
    assert len(visible(second)) < 8
    if kind == "vllm":
        assert second["tools"] == first["tools"]
        assert "get_weather" in referred(second)
    else:
        assert second["tools"][:1] == first["tools"][:1]
        assert second["tools"][1] == WEATHER
        assert isinstance(second["messages"][-1]["content"], str)
    assert sorted(t["function"]["name"] for t in second["tools"]) == sorted(["tool_search", *NAMES])


@FRAMINGS
@SERVERS
async def test_a_search_that_finds_nothing_says_so(kind: str, stream: bool) -> None:
    script = [reply(search("s1", "zzz")), reply("Sorry.")]
    upstream, told, _ = await played(kind, *script, stream=stream)

    result = upstream.requests[1]["messages"][-1]["content"]
    assert told.text == "Sorry."
    assert json.loads(result)["unmatched"] == ["zzz"]


@FRAMINGS
@SERVERS
@pytest.mark.parametrize("store", ["memory", "none"])
async def test_a_conversation_keeps_what_was_loaded(kind: str, store: str, stream: bool) -> None:
    script = [reply(search("s1", "weather city")), reply(OSLO), reply("It rains.")]
    settings: dict[str, Any] = {"strategy": "native", "upstream_profile": kind, "store": store}
    async with start_proxy(server(kind, *script), **settings) as proxy:
        await proxy.post(body(stream=stream))
        asked = request(stream=stream)
        asked["messages"] += [
            {"role": "assistant", "content": None, "tool_calls": [OSLO]},
            {"role": "tool", "tool_call_id": "c1", "content": "rain"},
        ]
        told = seen(await proxy.post(dumps(asked)))

    _, second, third = proxy.upstream.requests
    assert told.text == "It rains."
    assert "get_weather" in visible(third)
    if store == "memory":
        assert third["messages"][: len(second["messages"])] == second["messages"]
        assert third["tools"] == second["tools"]


@FRAMINGS
@SERVERS
async def test_a_wrong_blind_call_is_played_again_with_the_tool_loaded(
    kind: str, stream: bool
) -> None:
    script = [reply(call("c0", "get_weather", {"town": "Oslo"})), reply(OSLO)]
    upstream, told, _ = await played(kind, *script, stream=stream)

    assert [one[:2] for one in told.calls] == [["c1", "get_weather"]]
    assert "get_weather" in visible(upstream.requests[1])
    assert upstream.requests[1]["messages"] == upstream.requests[0]["messages"]


@FRAMINGS
@SERVERS
async def test_a_named_tool_is_loaded_and_a_hidden_one_is_nowhere(kind: str, stream: bool) -> None:
    choice = {"type": "function", "function": {"name": "get_weather"}}
    settings: dict[str, Any] = {"strategy": "native", "upstream_profile": kind}
    async with start_proxy(server(kind, reply(OSLO)), hidden=("crm__*",), **settings) as proxy:
        await proxy.post(body(stream=stream, tool_choice=choice))

    sent = proxy.upstream.requests[0]
    assert "get_weather" in visible(sent)
    assert not any(one["function"]["name"] in json.dumps(sent) for one in FILLER)


@FRAMINGS
async def test_an_upstream_that_does_not_know_marks_gets_none(stream: bool) -> None:
    """The profile is the operator's word; where it is wrong, promotion serves all the same."""
    settings: dict[str, Any] = {"strategy": "native", "upstream_profile": "vllm"}
    script = [reply(search("s1", "weather city")), reply(OSLO)]
    async with start_proxy(server("plain", *script), **settings) as proxy:
        first = await proxy.post(body(stream=stream))
        await proxy.post(body(stream=stream))

    assert [one[:2] for one in seen(first).calls] == [["c1", "get_weather"]]
    assert ["defer_loading" in json.dumps(one) for one in proxy.upstream.requests] == [
        True,
        *[False] * 3,
    ]
    assert first.headers["x-toolfold-learned"] == "defers"


@FRAMINGS
async def test_an_upstream_that_knows_no_references_has_marks_taken_off(stream: bool) -> None:
    settings: dict[str, Any] = {"strategy": "native", "upstream_profile": "vllm"}

    def answer(received: Received) -> Json | Raw:
        if referred(received.json):
            return refusal("messages.3.content.0.type: unknown part 'tool_reference'")
        has_result = received.json["messages"][-1]["role"] == "tool"
        return reply(OSLO) if has_result else reply(search("s1", "weather city"))

    async with start_proxy(answer, **settings) as proxy:
        response = await proxy.post(body(stream=stream))

    assert [one[:2] for one in seen(response).calls] == [["c1", "get_weather"]]
    assert "get_weather" in visible(proxy.upstream.requests[2])
    assert response.headers["x-toolfold-learned"] == "references"


@FRAMINGS
@pytest.mark.parametrize("profile", ["openai", "default", "llamacpp"])
async def test_elsewhere_native_is_promotion(profile: str, stream: bool) -> None:
    settings: dict[str, Any] = {"strategy": "native", "upstream_profile": profile}
    async with start_proxy(reply("Hi"), **settings) as proxy:
        await proxy.post(body([*CATALOG, tool("think")], stream=stream))

    assert proxy.upstream.received[0].tools == ["think", "tool_search"]
