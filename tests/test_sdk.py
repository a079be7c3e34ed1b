"""The unmodified OpenAI SDK, sync and async, in both framings."""

import asyncio
from typing import Any

import pytest
from openai import APIError, AsyncOpenAI, OpenAI, RateLimitError

from tests.builders import CATALOG, MODEL, call, numbered, reply, search
from tests.conftest import start_proxy

SCRIPT = [
    reply("Let me look. ", search("s1", "weather")),
    reply(call("c1", "get_weather", {"city": "Oslo"}), n=2),
]
ASKED: dict[str, Any] = {
    "model": MODEL,
    "messages": [{"role": "user", "content": "Weather?"}],
    "tools": CATALOG,
}


def said(completion: Any) -> tuple[Any, ...]:
    message = completion.choices[0].message
    calls = [(c.id, c.function.name, c.function.arguments) for c in message.tool_calls or []]
    return (
        message.content,
        calls,
        completion.choices[0].finish_reason,
        completion.usage.total_tokens,
    )


def sdk(url: str) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=url, api_key="k", max_retries=0)


EXPECTED = ("Let me look. ", [("c1", "get_weather", '{"city": "Oslo"}')], "tool_calls", 33)


async def test_async_buffered() -> None:
    async with start_proxy(*SCRIPT) as proxy, sdk(proxy.url) as client:
        assert said(await client.chat.completions.create(**ASKED)) == EXPECTED


async def test_async_streamed() -> None:
    async with start_proxy(*SCRIPT) as proxy, sdk(proxy.url) as client:
        asked = {**ASKED, "stream_options": {"include_usage": True}}
        async with client.chat.completions.stream(**asked) as stream:
            kinds = [event.type async for event in stream]
            assert said(await stream.get_final_completion()) == EXPECTED
        assert "tool_calls.function.arguments.done" in kinds


async def test_sync_in_both_framings() -> None:
    def buffered(url: str) -> Any:
        with OpenAI(base_url=url, api_key="k", max_retries=0) as client:
            return client.chat.completions.create(**ASKED)

    def streamed(url: str) -> list[Any]:
        with OpenAI(base_url=url, api_key="k", max_retries=0) as client:
            return list(client.chat.completions.create(**ASKED, stream=True))

    async with start_proxy(*SCRIPT) as proxy:
        assert said(await asyncio.to_thread(buffered, proxy.url)) == EXPECTED
    async with start_proxy(*SCRIPT) as proxy:
        chunks = await asyncio.to_thread(streamed, proxy.url)
        assert len({chunk.id for chunk in chunks}) == 1
        assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "tool_calls"


async def test_300_tools_reach_an_upstream_that_takes_128() -> None:
    asked = {**ASKED, "tools": [*numbered(299, 40), *CATALOG[:1]]}
    async with start_proxy(*SCRIPT, mode="auto") as proxy, sdk(proxy.url) as client:
        assert said(await client.chat.completions.create(**asked)) == EXPECTED
        assert [len(request["tools"]) for request in proxy.upstream.requests] == [1, 2]


async def test_the_sdk_raises_what_the_upstream_refused() -> None:
    async with start_proxy(429) as proxy, sdk(proxy.url) as client:
        for stream in (False, True):
            with pytest.raises(RateLimitError) as caught:
                await client.chat.completions.create(**ASKED, stream=stream)
            assert caught.value.request_id == "req-1"
            assert caught.value.response.headers["retry-after"] == "9"


async def test_the_sdk_raises_what_came_too_late_for_a_status() -> None:
    async with start_proxy(SCRIPT[0], 500) as proxy, sdk(proxy.url) as client:
        stream = await client.chat.completions.create(**ASKED, stream=True)
        with pytest.raises(APIError, match="status 500"):
            [chunk async for chunk in stream]
        assert len(proxy.upstream.received) == 3
