"""Other ways of deferring: marks, hosted searches and namespaces are read and consumed; a client
that finds its tools by itself is left alone."""

import json
from typing import Any

import pytest

from tests.builders import CATALOG, body, call, dumps, reply, request, search, tool
from tests.conftest import start_proxy
from tests.quirks.seen import seen

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
STRATEGIES = pytest.mark.parametrize("strategy", ["promote", "wrap"])
HOSTED: list[dict[str, Any]] = [
    {"type": "tool_search"},
    {"type": "tool_search", "execution": "server", "description": "Finds tools."},
    {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
    {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
    {"type": "openrouter:tool_search"},
    {"type": "openrouter:tool_search", "parameters": {"max_results": 5}},
]
OPEN_ORDERS: dict[str, Any] = {
    "type": "function",
    "name": "list_open_orders",
    "description": "List the open orders of a customer.",
    "defer_loading": True,
    "parameters": {"type": "object", "properties": {"customer": {"type": "string"}}},
}


def namespace(*functions: Any, name: str = "crm") -> Any:
    return {"type": "namespace", "name": name, "description": "The CRM.", "tools": list(functions)}


def within(one: Any, **members: Any) -> Any:
    """The mark in the function."""
    return {**one, "function": {**one["function"], **members}}


@FRAMINGS
@pytest.mark.parametrize("hosted", HOSTED, ids=[one["type"] for one in HOSTED])
async def test_a_hosted_search_is_consumed_and_is_a_wish_to_defer(
    hosted: Any, stream: bool
) -> None:
    """Two small tools, in `auto`: nothing but the wish is a reason to fold."""
    tools = [tool("get_weather", "x" * 200, city="string"), tool("get_time", "y" * 200), hosted]
    async with start_proxy(reply(search("s1", "weather")), reply("Hi"), mode="auto") as proxy:
        response = await proxy.post(body(tools, stream=stream))

    assert seen(response).text == "Hi"
    assert response.headers["x-toolfold-reason"] == "client-defers"
    types = [one["type"] for sent in proxy.upstream.requests for one in sent["tools"]]
    assert set(types) == {"function"}


@FRAMINGS
@STRATEGIES
@pytest.mark.parametrize("level", ["tool", "function"])
async def test_a_mark_is_obeyed_and_consumed(level: str, strategy: str, stream: bool) -> None:
    def marked(one: Any, value: bool) -> Any:
        if level == "tool":
            return {**one, "defer_loading": value}
        return within(one, defer_loading=value)

    long = [tool(f"get_{name}", "x" * 200, city="string") for name in ("weather", "time")]
    tools = [marked(long[0], True), marked(long[1], False)]
    async with start_proxy(reply("Hi"), mode="auto", strategy=strategy) as proxy:
        response = await proxy.post(body(tools, stream=stream))

    (received,) = proxy.upstream.received
    assert response.headers["x-toolfold-reason"] == "client-defers"
    assert received.tools[0] == "get_time"
    assert received.json["tools"][0] == long[1]
    assert b"defer_loading" not in received.body


FORMS = {
    "flat": OPEN_ORDERS,
    "nested": {
        "type": "function",
        "function": {k: v for k, v in OPEN_ORDERS.items() if k not in ("type", "defer_loading")},
        "defer_loading": True,
    },
}


@FRAMINGS
@STRATEGIES
@pytest.mark.parametrize("function", FORMS.values(), ids=FORMS)
async def test_a_namespace_of_deferred_functions_is_its_functions(
    function: Any, strategy: str, stream: bool
) -> None:
    """A call comes back by the function's own name. What is not deferred in it is declared."""
    now = {**OPEN_ORDERS, "name": "whoami", "defer_loading": False}
    made = call("c1", "list_open_orders", {"customer": "1"})
    if strategy == "wrap":
        inner = {"name": "list_open_orders", "arguments": {"customer": "1"}}
        made = call("c1", "call_tool", inner)
    script = [reply(search("s1", "open orders")), reply(made)]
    tools = [namespace(function, now), {"type": "tool_search"}]
    async with start_proxy(*script, mode="auto", strategy=strategy) as proxy:
        response = await proxy.post(body(tools, stream=stream))

    first, second = proxy.upstream.received
    assert [one[:2] for one in seen(response).calls] == [["c1", "list_open_orders"]]
    assert first.tools[:2] == ["whoami", "tool_search"]
    assert b"defer_loading" not in first.body + second.body
    if strategy == "promote":
        declared = second.json["tools"][-1]
        assert declared["function"]["name"] == "list_open_orders"
        assert declared["function"]["parameters"] == OPEN_ORDERS["parameters"]
        assert declared.keys() == {"type", "function"}


async def test_a_namespace_is_a_family() -> None:
    functions = [{**OPEN_ORDERS, "name": name} for name in ("list_orders", "close_order")]
    tools = [namespace(*functions), *CATALOG]
    async with start_proxy(reply("Hi"), hidden=("family:crm",)) as proxy:
        await proxy.post(body(tools))

    assert b"list_orders" not in proxy.upstream.received[0].body


async def test_a_name_in_two_namespaces_is_not_ours_to_tell_apart() -> None:
    tools = [namespace(OPEN_ORDERS), namespace(OPEN_ORDERS, name="shop")]
    async with start_proxy(reply("Hi")) as proxy:
        response = await proxy.post(body(tools))

    assert response.headers["x-toolfold-reason"] == "tools-malformed"
    assert proxy.upstream.received[0].body == body(tools)


async def test_a_namespace_that_defers_nothing_keeps_its_bytes() -> None:
    plain = namespace({**OPEN_ORDERS, "defer_loading": False})
    async with start_proxy(reply("Hi")) as proxy:
        await proxy.post(body([plain, *CATALOG]))

    assert dumps(plain) in proxy.upstream.received[0].body


SEARCHES = {
    "Claude Code": tool("ToolSearch", "Fetches the schemas of deferred tools.", query="string"),
    "agents": tool("tool_search", "Search for available tools.", query="string"),
    "pydantic-ai": tool("search_tools", "Find tools by keywords.", keywords="string"),
    "camel": tool("toolSearch", "Loads a function by its name.", wanted="string"),
    "regex": tool("tool_search_tool_regex", "Finds tools by a pattern.", pattern="string"),
}


@pytest.mark.parametrize("theirs", SEARCHES.values(), ids=SEARCHES)
async def test_more_tools_than_an_upstream_takes_are_folded_beside_it(theirs: Any) -> None:
    made = call("c1", theirs["function"]["name"], {"query": "weather"})
    async with start_proxy(reply(made), mode="auto", max_tools=len(CATALOG)) as proxy:
        response = await proxy.post(body([*CATALOG, theirs]))

    assert response.headers["x-toolfold-reason"] == "too-many-tools"
    assert all(len(one.tools) < len(CATALOG) for one in proxy.upstream.received)
    assert seen(response).calls[0][1] == theirs["function"]["name"]


@FRAMINGS
@pytest.mark.parametrize("mode", ["on", "auto"])
@pytest.mark.parametrize("theirs", SEARCHES.values(), ids=SEARCHES)
async def test_a_client_with_a_search_of_its_own_is_left_alone(
    theirs: Any, mode: str, stream: bool
) -> None:
    sent = body([*CATALOG, theirs], stream=stream)
    made = call("c1", theirs["function"]["name"], {"query": "weather"})
    async with start_proxy(reply(made), mode=mode) as proxy:
        response = await proxy.post(sent)

    assert response.headers["x-toolfold-reason"] == "client-searches"
    assert [one.body for one in proxy.upstream.received] == [sent]
    assert seen(response).calls[0][1] == theirs["function"]["name"]


LOADED = {
    "a reference": {"type": "tool_reference", "tool_name": "get_weather"},
    "an output": {"type": "tool_search_output", "tools": []},
    "a result": {"type": "tool_search_tool_result", "tool_use_id": "x", "content": []},
    "a call": {"type": "tool_search_call", "arguments": {}},
}


@FRAMINGS
@pytest.mark.parametrize("block", LOADED.values(), ids=LOADED)
async def test_a_conversation_in_which_tools_were_loaded_is_left_alone(
    block: Any, stream: bool
) -> None:
    asked = request(stream=stream)
    asked["messages"] += [
        {"role": "assistant", "content": "", "tool_calls": [call("x", "ToolSearch", {})]},
        {"role": "tool", "tool_call_id": "x", "content": [block]},
    ]
    async with start_proxy(reply("Hi")) as proxy:
        response = await proxy.post(dumps(asked))

    assert response.headers["x-toolfold-reason"] == "client-searches"
    assert proxy.upstream.received[0].body == dumps(asked)


NOT_SEARCHES = {
    "a shop": tool("tool_search", "Search the shop for drills.", regex="string"),
    "web": tool("search_tool", "Search the web with a tool.", query="string"),
    "find": tool("find_tool_shop", "Finds shops that sell tools.", city="string"),
}


@pytest.mark.parametrize("theirs", NOT_SEARCHES.values(), ids=NOT_SEARCHES)
async def test_a_tool_that_searches_for_something_else_is_a_tool(theirs: Any) -> None:
    async with start_proxy(reply("Hi")) as proxy:
        response = await proxy.post(body([*CATALOG, theirs]))

    assert response.headers["x-toolfold-decision"] == "folded"


async def test_words_about_references_are_words() -> None:
    asked = request(text='Explain {"type": "tool_reference"} and "type":"tool_search_output".')
    async with start_proxy(reply("Hi")) as proxy:
        response = await proxy.post(dumps(asked))

    assert response.headers["x-toolfold-decision"] == "folded"


async def test_what_is_hidden_is_not_shown_to_a_client_that_searches() -> None:
    """A policy only narrows: where relaying would show a hidden tool, the request is folded."""
    tools = [*CATALOG, SEARCHES["Claude Code"]]
    async with start_proxy(reply("Hi"), hidden=("get_weather",)) as proxy:
        await proxy.post(body(tools))

    (received,) = proxy.upstream.received
    assert b"get_weather" not in received.body
    assert "ToolSearch" in received.tools
    assert json.loads(received.body)["messages"]
