"""Tools of other types, and calls that a server itself refuses."""

import json
from typing import Any

import pytest

from tests.builders import CATALOG, body, call, dumps, numbered, reply, tool
from tests.conftest import start_proxy
from tests.quirks.rules import (
    refusal,
)
from tests.quirks.seen import seen
from tests.upstream import Raw

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
STRATEGIES = pytest.mark.parametrize("strategy", ["promote", "wrap"])
SIXTY = numbered(60)

OTHERS: list[dict[str, Any]] = [
    {"type": "web_search"},
    {"type": "mcp", "server_label": "docs", "server_url": "https://example.com/mcp"},
    {"type": "namespace", "name": "crm", "description": "The CRM.", "tools": [{"name": "x"}]},
    {"type": "custom", "custom": {"name": "run_sql", "format": {"type": "text"}}},
    {"type": "code_interpreter", "container": {"type": "auto"}},
]


@FRAMINGS
@STRATEGIES
async def test_Q051_entries_of_other_types_keep_their_bytes(strategy: str, stream: bool) -> None:
    """DESIGN: a `custom` tool may be deferred with `promote`; it is declared here, as asked."""
    async with start_proxy(reply("Hi"), direct=("run_sql",), strategy=strategy) as proxy:
        response = await proxy.post(body([*OTHERS, *SIXTY], stream=stream))

    assert response.status_code == 200
    sent = proxy.upstream.received[0]
    for other in OTHERS:
        assert dumps(other) in sent.body
    assert "run_sql" not in json.dumps([t for t in sent.json["tools"] if "function" in t])


@FRAMINGS
@pytest.mark.parametrize("direct", [("run_sql",), ()], ids=["declared", "deferred"])
@pytest.mark.parametrize("name", ["run_sql", "tool_search"])
async def test_Q051_a_custom_call_is_never_a_search(
    name: str, direct: tuple[str, ...], stream: bool
) -> None:
    custom = {"type": "custom", "custom": {"name": name, "description": "SQL " * 30}}
    made = {"id": "c1", "type": "custom", "custom": {"name": name, "input": "SELECT 1"}}
    async with start_proxy(reply(made), direct=(*direct, "tool_search")) as proxy:
        response = await proxy.post(body([custom, *SIXTY], stream=stream))

    assert b"SELECT 1" in response.content.replace(b'"}}]}, "log', b"")[:9_999] or stream
    assert len(proxy.upstream.received) == 1


GROQ = "tool call validation failed: attempted to call tool '{}' which was not in request.tools"


def undeclared(name: str) -> Raw:
    return refusal(GROQ.format(name), code="tool_use_failed", failed_generation="<tool>")


@FRAMINGS
@STRATEGIES
@pytest.mark.parametrize("name", ["t42", "get_weather"])
async def test_Q053_a_call_that_the_server_refuses_is_played_again(
    name: str, strategy: str, stream: bool
) -> None:
    tools = [*SIXTY, tool("get_weather", "Weather.", city="string?")]
    inner = call("c1", name, {})
    if strategy == "wrap":
        inner = call("c1", "call_tool", {"name": name, "arguments": {}})
    async with start_proxy(undeclared(name), reply(inner), strategy=strategy) as proxy:
        response = await proxy.post(body(tools, stream=stream))

    assert [one[:2] for one in seen(response).calls] == [["c1", name]]
    assert len(proxy.upstream.received) == 2
    declared = next(one for one in tools if one["function"]["name"] == name)
    assert strategy == "wrap" or declared in proxy.upstream.requests[1]["tools"]


@FRAMINGS
@pytest.mark.parametrize("strategy", ["promote", "wrap"])
@pytest.mark.parametrize("name", ["nothing_of_ours", "tool_searches"])
async def test_Q053_an_unknown_call_that_the_server_refuses_is_its_word(
    name: str, strategy: str, stream: bool
) -> None:
    async with start_proxy(undeclared(name), strategy=strategy) as proxy:
        response = await proxy.post(body(SIXTY, stream=stream))

    assert response.json()["error"]["message"] == GROQ.format(name)
    assert (response.status_code, len(proxy.upstream.received)) == (400, 1)


@FRAMINGS
async def test_Q053_it_is_tried_once(stream: bool) -> None:
    async with start_proxy(undeclared("t42")) as proxy:
        response = await proxy.post(body(SIXTY, stream=stream))

    assert (response.status_code, len(proxy.upstream.received)) == (400, 2)
    assert all(len(one.body) < 9_000 for one in proxy.upstream.received)
    assert len(CATALOG) < len(SIXTY)
