"""Q072 and its kind: a search with any arguments is answered in words, in one hidden round."""

import json

import pytest

from tests.builders import body, call, dumps, reply
from tests.conftest import start_proxy
from tests.upstream import Raw

MEGABYTE = "x" * 1_000_000
ARGUMENTS = {
    "empty": "",
    "empty object": "{}",
    "null": "null",
    "true": "true",
    "a number": "17",
    "an empty list": '{"queries":[]}',
    "empty texts": '{"queries":["", " "]}',
    "nulls": '{"queries":[null, {}]}',
    "another field": '{"q":"weather"}',
    "query": '{"query":"weather"}',
    "a text": '"weather"',
    "bare words": "weather in Oslo",
    "a list": '["weather"]',
    "double-encoded": json.dumps(json.dumps({"queries": ["weather"]})),
    "triple-encoded": json.dumps(json.dumps(json.dumps({"queries": ["weather"]}))),
    "a JSON list in a string": '{"queries":"[\\"weather\\"]"}',
    "cut off": '{"queries":["weather","ref',
    "cut off early": '{"quer',
    "two objects": '{"queries":["weather"]}{"queries":["refund"]}',
    "single quotes": "{'queries': ['weather']}",
    "deep": '{"queries":' + "[" * 5_000 + "]" * 5_000 + "}",
    "surrogate": '{"queries":["\\ud800 weather"]}',
    "NaN": '{"queries":["weather"],"limit":NaN}',
    "limit in words": '{"queries":["weather"],"limit":"many"}',
    "limit beyond": '{"queries":["weather"],"limit":1e999}',
    "limit of 5,000 digits": '{"queries":["weather"],"limit":' + "9" * 5_000 + "}",
    "limit negative": '{"queries":["weather"],"limit":-3}',
    "a thousand queries": json.dumps({"queries": [f"weather {n}" for n in range(1_000)]}),
    "a megabyte": json.dumps({"queries": [MEGABYTE]}),
    "braces": "{" * 100_000,
    "quotes": '"' * 100_001,
}


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
@pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS)
async def test_a_search_with_any_arguments_is_answered_in_words(
    arguments: str, stream: bool
) -> None:
    whole = {"index": 0, **call("s1", "tool_search", arguments)}
    choice = {"index": 0, "delta": {"tool_calls": [whole]}, "finish_reason": "tool_calls"}
    said = b"data: " + dumps({"id": "u", "choices": [choice]}) + b"\n\n"
    async with start_proxy(Raw(said), reply("Done.")) as proxy:
        response = await proxy.post(body(stream=stream))

    messages = proxy.upstream.requests[1]["messages"]
    answer = json.loads(messages[-1]["content"])
    assert response.status_code == 200
    assert b"tool_search" not in response.content
    assert len(proxy.upstream.received) == 2
    assert answer.keys() == {"tools", "unmatched", "note"}
    assert len(answer["note"]) > 20
    json.loads(messages[-2]["tool_calls"][0]["function"]["arguments"])
