"""What models do with the search tool and with names that they read in the manifest."""

import json
from typing import Any

import pytest

from app.core.codec import Json
from tests.builders import body, call, dumps, events, numbered, reply, request, search, tool
from tests.conftest import Proxy, start_proxy
from tests.quirks.records import DECLARED, TOOLS, script
from tests.quirks.seen import seen
from tests.upstream import Raw

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])


def calls(identifier: str) -> list[Json]:
    """The calls of a report's first round."""
    return [call(*one) for one in script(identifier)["upstream_turn1_calls"]]


def answers(proxy: Proxy, at: int = -1) -> list[Json]:
    """The tool messages that a round came with."""
    messages: list[Json] = proxy.upstream.requests[at]["messages"]
    return [message for message in messages if message["role"] == "tool"]


def t42() -> Json:
    """The report's tool; its `required` belongs into `parameters`."""
    (one,) = script("Q065")["client_tools"]
    function = dict(one["function"])
    function["parameters"] = function["parameters"] | {"required": function.pop("required")}
    return {**one, "function": function}


@FRAMINGS
async def test_Q065_a_valid_call_of_a_deferred_tool_leaves_unchanged(stream: bool) -> None:
    said = reply("Right. ", call("c1", "t42", '{ "doc_id":"9" }'))
    async with start_proxy(said) as proxy:
        told = seen(await proxy.post(body([t42(), *numbered(40)], stream=stream)))

    assert (told.text, told.calls) == ("Right. ", [["c1", "t42", '{ "doc_id":"9" }']])
    assert len(proxy.upstream.received) == 1


@FRAMINGS
async def test_Q065_an_invalid_one_is_played_again_with_the_tool_declared(stream: bool) -> None:
    """DESIGN: nothing of the failed call is in the messages. Told the error in a tool result,
    which the report asks for, a model gets it wrong again."""
    right = call("c2", "t42", {"doc_id": "9"})
    async with start_proxy(reply(*calls("Q065")), reply(right)) as proxy:
        told = seen(await proxy.post(body([t42(), *numbered(40)], stream=stream)))

    first, second = proxy.upstream.requests
    assert told.calls == [["c2", "t42", '{"doc_id": "9"}']]
    assert second["messages"] == first["messages"]
    assert second["tools"] == [*first["tools"], t42()]


@FRAMINGS
async def test_Q065_a_second_invalid_call_leaves_as_it_is(stream: bool) -> None:
    async with start_proxy(reply(*calls("Q065"))) as proxy:
        told = seen(await proxy.post(body([t42(), *numbered(40)], stream=stream)))

    assert told.calls == [["c1", "t42", '{"id":"9"}']]
    assert len(proxy.upstream.received) == 2


@FRAMINGS
@pytest.mark.parametrize("direct", [DECLARED, ()], ids=["declared", "deferred"])
async def test_Q066_a_search_among_calls_is_left_out(stream: bool, direct: tuple[str, ...]) -> None:
    async with start_proxy(reply(*calls("Q066")), direct=direct) as proxy:
        response = await proxy.post(body(TOOLS, stream=stream))

    told = seen(response)
    assert told.calls == [["c1", "ledger_post", '{"n":1}'], ["c2", "weather_now", "{}"]]
    assert (told.finishes, told.done) == (["tool_calls"], 1)
    assert b"s1" not in response.content
    assert len(proxy.upstream.received) == 1


@FRAMINGS
async def test_Q067_a_search_without_end_ends(stream: bool) -> None:
    """DESIGN: five searches, then the model is told, then it may not call at all."""
    script = [reply(search(f"s{n}", f"geo{n}"), n=n) for n in range(1, 8)]
    async with start_proxy(*script) as proxy:
        response = await proxy.post(body(TOOLS, stream=stream))

    requests = proxy.upstream.requests
    assert (response.status_code, len(requests)) == (200, 7)
    assert [one.get("tool_choice") for one in requests] == [None] * 6 + ["none"]
    assert all("tool_search" in received.tools for received in proxy.upstream.received)
    assert "No search was made" in answers(proxy)[-1]["content"]
    told = seen(response)
    assert (told.calls, told.finishes, told.done) == ([], ["stop"], 1)


@FRAMINGS
async def test_Q067_where_a_call_is_required_the_search_is_taken_away(stream: bool) -> None:
    script = [*(reply(search(f"s{n}", f"q{n}")) for n in range(6)), reply(call("c1", "geo_find"))]
    async with start_proxy(*script) as proxy:
        sent = body(TOOLS, stream=stream, tool_choice="required")
        told = seen(await proxy.post(sent))

    requests = proxy.upstream.requests
    assert [one["tool_choice"] for one in requests] == ["required"] * 7
    assert "tool_search" not in proxy.upstream.received[-1].tools
    assert told.calls == [["c1", "geo_find", "{}"]]


@FRAMINGS
async def test_Q067_searches_in_parallel_count_one_by_one(stream: bool) -> None:
    many = [search(f"s{n}", f"geo {n}") for n in range(9)]
    async with start_proxy(reply(*many), reply("Done.")) as proxy:
        told = seen(await proxy.post(body(TOOLS, stream=stream)))

    assert told.text == "Done."
    contents = [one["content"] for one in answers(proxy)]
    assert ["No search was made" in content for content in contents] == [False] * 5 + [True] * 4


@FRAMINGS
async def test_Q067_a_model_that_searched_enough_still_calls(stream: bool) -> None:
    script = [*(reply(search(f"s{n}", "geo")) for n in range(6)), reply("Sorry.")]
    async with start_proxy(*script, max_searches=2) as proxy:
        told = seen(await proxy.post(body(TOOLS, stream=stream)))

    assert len(proxy.upstream.received) == 4
    assert told.done == 1


@FRAMINGS
async def test_Q069_a_client_tool_with_our_name_is_the_clients(stream: bool) -> None:
    asked = script("Q069")
    asked["tools"] = [*asked["tools"][:1], *numbered(40)]
    theirs = call("c1", "tool_search", {"regex": "x"})
    async with start_proxy(reply(theirs), direct=("tool_search",)) as proxy:
        told = seen(await proxy.post(dumps({**asked, "stream": stream})))

    names = proxy.upstream.received[0].tools
    assert told.calls == [["c1", "tool_search", '{"regex": "x"}']]
    assert len(names) == len(set(names)) == 2


async def test_Q069_a_client_tool_with_our_name_is_declared_without_being_asked() -> None:
    asked = script("Q069")
    asked["tools"] = [*asked["tools"][:1], *numbered(40)]
    async with start_proxy(reply("x")) as proxy:
        await proxy.post(dumps(asked))

    assert "tool_search" in proxy.upstream.received[0].tools
    assert asked["tools"][0] in proxy.upstream.requests[0]["tools"]


async def test_Q069_every_name_of_ours_may_be_taken() -> None:
    taken = ["tool_search", "toolfold_search", "toolfold_tool_search", "toolfold_tool_search_2"]
    async with start_proxy(reply("x"), direct=taken) as proxy:
        await proxy.post(body([*(tool(name) for name in taken), *TOOLS]))

    names = proxy.upstream.received[0].tools
    assert len(names) == len(set(names)) == len(taken) + 1


async def test_Q069_a_name_in_the_history_is_taken_as_well() -> None:
    asked = request(TOOLS)
    history = [
        {"role": "assistant", "content": None, "tool_calls": [call("h1", "tool_search", {})]},
        {"role": "tool", "tool_call_id": "h1", "content": "found"},
    ]
    asked["messages"] = asked["messages"] + history
    async with start_proxy(reply("x")) as proxy:
        await proxy.post(dumps(asked))

    assert "tool_search" not in proxy.upstream.received[0].tools
    assert len(proxy.upstream.received[0].tools) == 1


@FRAMINGS
async def test_Q071_an_unknown_name_is_answered_twice_then_leaves(stream: bool) -> None:
    """DESIGN: close names and the search tool are recommended inside the turn, at most twice;
    the report asks for no loop at all."""
    script_ = [reply(call(f"x{n}", "send_fax", {})) for n in range(1, 4)]
    async with start_proxy(*script_) as proxy:
        told = seen(await proxy.post(body(numbered(60), stream=stream)))

    assert told.calls == [["x3", "send_fax", "{}"]]
    assert told.finishes == ["tool_calls"]
    assert len(proxy.upstream.received) == 3
    assert all("send_fax" in one["content"] for one in answers(proxy))
    assert all("tool_search" in one["content"] for one in answers(proxy))


@FRAMINGS
async def test_Q071_close_names_are_named(stream: bool) -> None:
    async with start_proxy(reply(call("x1", "find_geo_place")), reply("Ok.")) as proxy:
        told = seen(await proxy.post(body(TOOLS, stream=stream)))

    assert told.text == "Ok."
    assert "`geo_find`" in answers(proxy)[0]["content"]
    assert answers(proxy)[0]["content"].count("`") <= 2 * (1 + 3 + 1)


@FRAMINGS
async def test_Q071_beside_a_real_call_an_unknown_one_leaves(stream: bool) -> None:
    both = [call("x1", "send_fax"), call("c1", "geo_find")]
    async with start_proxy(reply(*both)) as proxy:
        told = seen(await proxy.post(body(TOOLS, stream=stream)))

    assert told.calls == [["x1", "send_fax", "{}"], ["c1", "geo_find", "{}"]]
    assert len(proxy.upstream.received) == 1


def as_events(said: Json) -> bytes:
    """A completion whose call comes whole, in one chunk."""
    message = said["choices"][0]["message"]
    calls = [{"index": at, **one} for at, one in enumerate(message["tool_calls"])]
    choice = {"index": 0, "delta": {**message, "tool_calls": calls}, "finish_reason": "tool_calls"}
    return events({**said, "object": "chat.completion.chunk", "choices": [choice]})


@FRAMINGS
@pytest.mark.parametrize(
    "arguments", [one[2] for one in script("Q072")["upstream_turn1_calls_variants"]]
)
async def test_Q072_wrong_arguments_are_answered(stream: bool, arguments: str) -> None:
    said = reply(call("s1", "tool_search", arguments))
    first: Any = Raw(as_events(said)) if stream else said
    async with start_proxy(first, reply("Done.")) as proxy:
        response = await proxy.post(body(TOOLS, stream=stream))

    (answer,) = answers(proxy)
    found = [one["name"] for one in json.loads(answer["content"])["tools"]]
    assert seen(response).text == "Done."
    assert len(proxy.upstream.received) == 2
    assert b"s1" not in response.content
    if arguments == "{}":
        assert found == []
        assert "crm" in answer["content"]
    else:
        assert "geo_find" in found


@FRAMINGS
async def test_Q074_search_results_are_plain_text(stream: bool) -> None:
    async with start_proxy(reply(search("s1", "geo")), reply("Done.")) as proxy:
        await proxy.post(body(TOOLS, stream=stream))

    (answer,) = answers(proxy)
    assert answer.keys() == {"role", "tool_call_id", "content"}
    assert isinstance(answer["content"], str)
    sent = proxy.upstream.received[1].body
    words = (b"tool_reference", b"tool_search_output", b"server_tool_use", b"defer_loading")
    assert not any(word in sent for word in words)


async def test_Q074_native_blocks_in_the_history_keep_their_bytes() -> None:
    """DESIGN relays what it does not understand; messages are not rewritten, so the blocks
    reach the upstream as the client wrote them."""
    block = {"type": "tool_reference", "tool_name": "geo_find"}
    asked = request(TOOLS)
    asked["messages"] = [{"role": "tool", "tool_call_id": "x", "content": [block]}]
    async with start_proxy(reply("Done.")) as proxy:
        response = await proxy.post(dumps(asked))

    assert response.status_code == 200
    assert proxy.upstream.requests[0]["messages"] == asked["messages"]
