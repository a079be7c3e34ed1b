"""Names that an upstream refuses: in `tools`, in the history, and our own."""

import json
from typing import Any

import pytest

from tests.builders import CATALOG, body, call, dumps, numbered, reply, request, search, tool
from tests.conftest import start_proxy
from tests.quirks.records import GEO, TOOLS
from tests.quirks.rules import (
    assistants,
    described_within,
    not_named,
    plain_history,
    plain_names,
    refusal,
    ruled,
    short_ids,
)
from tests.quirks.seen import seen
from tests.upstream import Raw

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
STRATEGIES = pytest.mark.parametrize("strategy", ["promote", "wrap"])
LONG = "n" * 70
SLASHED = tool("srv.read/file", "Read a file of the server.", path="string")
OVERLONG = tool(LONG, "Read a geo chart.", path="string")


@FRAMINGS
@pytest.mark.parametrize("bad", [SLASHED, OVERLONG], ids=["slashed", "overlong"])
async def test_Q038_a_name_that_is_refused_is_dropped_and_the_model_told(
    bad: Any, stream: bool
) -> None:
    name = bad["function"]["name"]
    tools = [bad, *CATALOG]
    script = ruled(plain_names, reply(search("s1", f"select:{name}", "weather")), reply("Sorry."))
    async with start_proxy(script) as proxy:
        first = await proxy.post(body(tools, stream=stream))
        again = await proxy.post(body(tools, stream=stream))

    assert [seen(one).text for one in (first, again)] == ["Sorry.", "Sorry."]
    tried = [name in received.tools for received in proxy.upstream.received]
    assert tried == [False, True, False, False]  # learned: the second time it is not tried
    result = next(m for m in proxy.upstream.requests[2]["messages"] if m["role"] == "tool")
    found = json.loads(result["content"])
    assert name not in [one["name"] for one in found["tools"]]
    assert name in found["note"]
    assert "get_weather" in proxy.upstream.received[2].tools
    assert first.headers["x-toolfold-learned"] == "names"


@FRAMINGS
async def test_Q038_a_known_upstream_is_not_asked_to_take_such_a_name(stream: bool) -> None:
    script = ruled(plain_names, reply(search("s1", "file")), reply("Sorry."))
    async with start_proxy(script, upstream_profile="openai") as proxy:
        response = await proxy.post(body([SLASHED, *CATALOG], stream=stream))

    assert (seen(response).text, len(proxy.upstream.received)) == ("Sorry.", 2)


@FRAMINGS
async def test_Q038_an_upstream_that_takes_such_a_name_gets_it(stream: bool) -> None:
    made = call("c1", "srv.read/file", {"path": "/"})
    script = [reply(search("s1", "read file")), reply(made)]
    async with start_proxy(*script, upstream_profile="vllm") as proxy:
        response = await proxy.post(body([SLASHED, *CATALOG], stream=stream))

    assert seen(response).calls == [["c1", "srv.read/file", '{"path": "/"}']]
    assert "srv.read/file" in proxy.upstream.received[1].tools


@FRAMINGS
async def test_Q038_wrapped_a_name_is_only_an_argument(stream: bool) -> None:
    inner = {"name": "srv.read/file", "arguments": {"path": "/"}}
    script = ruled(plain_names, reply(search("s1", "file")), reply(call("c1", "call_tool", inner)))
    async with start_proxy(script, strategy="wrap") as proxy:
        response = await proxy.post(body([SLASHED, *CATALOG], stream=stream))

    assert seen(response).calls[0][:2] == ["c1", "srv.read/file"]
    assert len(proxy.upstream.received) == 2


@FRAMINGS
async def test_Q038_a_schema_that_is_refused_is_dropped_for_this_turn(stream: bool) -> None:
    """One bad schema does not sink the request, and says nothing of other tools."""

    def rule(sent: Any) -> Raw | None:
        names = [one["function"]["name"] for one in sent["tools"]]
        if "geo_find" not in names:
            return None
        where = f"tools[{names.index('geo_find')}].function.parameters"
        return refusal(f"Invalid schema for function 'geo_find': {where}")

    script = ruled(rule, reply(search("s1", "geo find")), reply("Sorry."))
    async with start_proxy(script) as proxy:
        for _ in range(2):
            response = await proxy.post(body([GEO, *CATALOG], stream=stream))
            assert seen(response).text == "Sorry."

    assert ["geo_find" in one.tools for one in proxy.upstream.received] == [
        False,
        True,
        False,
        False,
    ]


@FRAMINGS
@pytest.mark.parametrize("count", [1, 12, 60, 300, 1_200])
@STRATEGIES
async def test_Q039_our_descriptions_are_short_for_any_number_of_tools(
    count: int, strategy: str, stream: bool
) -> None:
    tools = numbered(count, description_chars=80)
    async with start_proxy(reply("Hi"), strategy=strategy, min_tokens=0) as proxy:
        response = await proxy.post(body(tools, stream=stream))

    sent = proxy.upstream.requests[0]["tools"]
    assert response.status_code == 200
    assert all(len(one["function"]["description"]) <= 1_024 for one in sent)
    kept = [one for one in sent if one in tools]
    assert all(len(one["function"]["description"]) == 80 for one in kept)


@FRAMINGS
@pytest.mark.parametrize("system", [True, False], ids=["system", "no system"])
async def test_Q039_a_shorter_limit_is_learned(system: bool, stream: bool) -> None:
    asked = request(CATALOG, stream=stream)
    if system:
        asked["messages"] = [{"role": "system", "content": "Be brief."}, *asked["messages"]]

    def rule(sent: Any) -> Raw | None:
        listed = "crm__read_deal" in json.dumps(sent["tools"])
        return refusal("function 'tool_search': description too long (max 512)") if listed else None

    async with start_proxy(ruled(rule, reply("Hi"))) as proxy:
        first = await proxy.post(dumps(asked))
        await proxy.post(dumps(asked))

    assert (seen(first).text, len(proxy.upstream.received)) == ("Hi", 3)
    assert first.headers["x-toolfold-learned"] == "manifest"
    sent = proxy.upstream.requests[1]["messages"]
    assert len(sent) == len(asked["messages"])
    assert ("crm__read_deal" in sent[0]["content"]) == system


@FRAMINGS
async def test_Q039_a_clients_own_description_is_the_clients_to_mend(stream: bool) -> None:
    long = tool("think", "x" * 2_000)
    async with start_proxy(ruled(described_within(1_024), reply("Hi"))) as proxy:
        response = await proxy.post(body([long, *CATALOG], stream=stream))

    assert response.status_code == 400
    assert len(proxy.upstream.received) == 1


NAMES = ["browser.tabs.open", "$READFILE", "a b", "", "n" * 80, "ü"]


@FRAMINGS
@STRATEGIES
@pytest.mark.parametrize("name", NAMES)
async def test_Q040_a_made_up_name_is_replayed_as_a_legal_one(
    name: str, strategy: str, stream: bool
) -> None:
    first = reply(search("s1", "geo"), call("x1", name, {}))
    script = ruled(plain_history, first, reply("Done."))
    async with start_proxy(script, strategy=strategy) as proxy:
        told = seen(await proxy.post(body(TOOLS, stream=stream)))

    (echoed,) = assistants(proxy.upstream.requests[1])
    assert told.text == "Done."
    assert [one["id"] for one in echoed["tool_calls"]] == ["s1", "x1"]
    results = [
        m["tool_call_id"] for m in proxy.upstream.requests[1]["messages"] if m["role"] == "tool"
    ]
    assert results == ["s1", "x1"]


@FRAMINGS
async def test_Q040_a_made_up_name_that_leaves_keeps_its_spelling(stream: bool) -> None:
    script = [reply(call(f"x{n}", "browser.tabs.open", {})) for n in range(3)]
    async with start_proxy(*script) as proxy:
        told = seen(await proxy.post(body(TOOLS, stream=stream)))

    assert told.calls == [["x2", "browser.tabs.open", "{}"]]


@FRAMINGS
@pytest.mark.parametrize("strategy", ["promote", "wrap"])
@pytest.mark.parametrize("bad", ["tool_search", "call_tool"])
async def test_Q041_a_name_of_ours_that_is_refused_is_another(
    bad: str, strategy: str, stream: bool
) -> None:
    script = ruled(not_named(bad), reply("Hi"))
    async with start_proxy(script, strategy=strategy) as proxy:
        first = await proxy.post(body(CATALOG, stream=stream))
        await proxy.post(body(CATALOG, stream=stream))

    tried = [bad in received.tools for received in proxy.upstream.received]
    declared = bad == "tool_search" or strategy == "wrap"
    assert seen(first).text == "Hi"
    assert tried == ([True, False, False] if declared else [False, False])


@FRAMINGS
@STRATEGIES
async def test_Q041_the_other_name_is_searched_with(stream: bool, strategy: str) -> None:
    script = ruled(
        not_named("tool_search"),
        reply(call("s1", "find_tools", {"queries": ["weather"]})),
        reply("Done."),
    )
    async with start_proxy(script, strategy=strategy) as proxy:
        told = seen(await proxy.post(body(CATALOG, stream=stream)))

    sent = proxy.upstream.requests[-1]
    assert (told.text, told.calls) == ("Done.", [])
    assert "tool_search" not in json.dumps(sent)
    assert assistants(sent)[0]["tool_calls"][0]["function"]["name"] == "find_tools"


@FRAMINGS
async def test_Q041_where_no_name_is_taken_the_request_goes_as_it_was(stream: bool) -> None:
    script = ruled(not_named("tool_search", "find_tools"), reply("Hi"))
    sent = body(CATALOG, stream=stream)
    async with start_proxy(script) as proxy:
        response = await proxy.post(sent)

    assert seen(response).text == "Hi"
    assert [len(received.tools) for received in proxy.upstream.received] == [1, 1, len(CATALOG)]
    assert proxy.upstream.received[-1].body == sent
    assert response.headers["x-toolfold-decision"] == "relayed"
    assert response.headers["x-toolfold-reason"] == "upstream-refuses"


@FRAMINGS
@STRATEGIES
@pytest.mark.parametrize("profile", ["mistral", "default"])
async def test_an_upstream_of_short_ids_gets_short_ids(
    profile: str, strategy: str, stream: bool
) -> None:
    """Q035's sister: nine letters and digits, for what is ours; the client's are its own."""
    script = ruled(short_ids, reply(search("call_s1", "weather")), reply("Done."))
    async with start_proxy(script, strategy=strategy, upstream_profile=profile) as proxy:
        for _ in range(2):
            response = await proxy.post(body(CATALOG, stream=stream))
            assert seen(response).text == "Done."

    for sent in proxy.upstream.requests[-1:]:
        ids = [one["id"] for m in assistants(sent) for one in m["tool_calls"]]
        assert [m["tool_call_id"] for m in sent["messages"] if m["role"] == "tool"] == ids
    assert len(proxy.upstream.received) == (3 if profile == "mistral" else 4)
