"""Ids, names and limits: what upstreams refuse of a declaration, and what we never lengthen."""

import pytest

from tests.builders import CATALOG, body, call, dumps, numbered, reply, request, search, tool
from tests.conftest import start_proxy
from tests.quirks.rules import (
    most_tools,
    refusal,
    ruled,
)
from tests.quirks.seen import seen

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
STRATEGIES = pytest.mark.parametrize("strategy", ["promote", "wrap"])


@FRAMINGS
@STRATEGIES
@pytest.mark.parametrize("length", [1, 24, 39, 40, 51, 200])
async def test_Q035_an_id_is_never_lengthened(length: int, stream: bool, strategy: str) -> None:
    identifier = "call_9999999999" * 20
    history = [
        {"role": "user", "content": "q"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [call(identifier[:length], "t00", {})],
        },
        {"role": "tool", "tool_call_id": identifier[:length], "content": "r"},
    ]
    asked = {**request(numbered(30), stream=stream), "messages": history}
    script = [reply(search("s1", "t07")), reply(call("c" * length, "t07", {}))]
    async with start_proxy(*script, strategy=strategy) as proxy:
        told = seen(await proxy.post(dumps(asked)))

    assert [one[0] for one in told.calls] == ["c" * length]
    for sent in proxy.upstream.requests:
        ids = {one["id"] for m in sent["messages"] for one in m.get("tool_calls", [])}
        assert identifier[:length] in ids
        ours = ids - {identifier[:length]}
        assert all(len(one) <= 40 for one in ours)
        answered = [m["tool_call_id"] for m in sent["messages"] if m["role"] == "tool"]
        assert sorted(answered) == sorted(ids)


@FRAMINGS
@pytest.mark.parametrize("count", [129, 150, 400])
async def test_Q037_many_tools_are_few_upstream(count: int, stream: bool) -> None:
    """In `auto` as in `on`: more tools than the upstream takes are a reason to fold."""
    script = ruled(most_tools(128), reply(call("c1", "t77", {})))
    async with start_proxy(script, mode="auto") as proxy:
        response = await proxy.post(body(numbered(count), stream=stream))

    assert response.status_code == 200
    assert seen(response).calls == [["c1", "t77", "{}"]]
    assert len(proxy.upstream.received) == 1


@FRAMINGS
async def test_Q037_promotions_do_not_pass_the_limit(stream: bool) -> None:
    """The oldest that history does not call goes; what history calls stays."""
    tools = [
        tool(f"crm__{at:03}_read", f"Read kind {at} of record.", id="string") for at in range(90)
    ]
    names = [one["function"]["name"] for one in tools]
    history = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "tool_calls": [call("h1", names[0], {"id": "1"})]},
        {"role": "tool", "tool_call_id": "h1", "content": "r"},
    ]
    wanted = [f"select:{','.join(names[at : at + 5])}" for at in (10, 20, 30)]
    script = [reply(search(f"s{n}", text)) for n, text in enumerate(wanted)]
    asked = {**request(tools, stream=stream), "messages": history}
    async with start_proxy(*script, reply("Done."), max_tools=8) as proxy:
        response = await proxy.post(dumps(asked))

    assert seen(response).text == "Done."
    assert all(len(received.tools) <= 8 for received in proxy.upstream.received)
    assert all(names[0] in received.tools for received in proxy.upstream.received)
    assert names[30] in proxy.upstream.received[-1].tools


@FRAMINGS
@pytest.mark.parametrize(
    "said",
    [
        "Invalid 'tools': array too long. Expected an array with maximum length 6, but got 8.",
        "Maximum number of tools is 6",
        "You may pass at most 6 tools",
        "too many tools: 8 > 6",
    ],
)
async def test_Q037_a_lower_limit_is_learned(said: str, stream: bool) -> None:
    queries = search("s1", *(f"crm {word}" for word in ("contact", "deal", "lead")))
    rule = most_tools(6)
    script = ruled(
        lambda sent: refusal(said) if rule(sent) else None, reply(queries), reply("Done.")
    )
    async with start_proxy(script) as proxy:
        response = await proxy.post(body(CATALOG, stream=stream))

    sizes = [len(received.tools) for received in proxy.upstream.received]
    assert seen(response).text == "Done."
    assert (sizes[0], sizes[2], len(sizes)) == (1, 6, 3)
    assert sizes[1] > 6
