"""Pydantic AI's agent: words, and an answer through its output tool."""

from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="the extra `frameworks` is not installed")

from pydantic_ai import Agent, Tool
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from tests.builders import MODEL
from tests.clients.weather import (
    ASKED,
    FUNCTIONS,
    WORDS,
    Answer,
    Desk,
    check,
    each_framing,
    each_strategy,
    spoken,
    structured,
)
from tests.conftest import start_proxy


async def asked(url: str, desk: Desk, output: type[Any], stream: bool) -> Any:
    def tool(name: str, description: str, parameters: Any) -> Tool[None]:
        async def run(**arguments: Any) -> str:
            return desk.run(name, arguments)

        return Tool.from_schema(run, name, description, parameters)

    provider = OpenAIProvider(base_url=url, api_key="k")
    model = OpenAIChatModel(MODEL, provider=provider)
    tools = [tool(**function) for function in FUNCTIONS]
    agent = Agent(model, tools=tools, output_type=output)
    async with provider.client:
        if not stream:
            return (await agent.run(ASKED)).output
        async with agent.run_stream(ASKED) as running:
            return await running.get_output()


@each_framing
@each_strategy
async def test_an_agent_searches_calls_and_answers(strategy: str, stream: bool) -> None:
    desk = Desk()
    async with start_proxy(*spoken(strategy), strategy=strategy) as proxy:
        assert await asked(proxy.url, desk, str, stream) == WORDS
        check(proxy, desk, strategy)


@each_framing
@each_strategy
async def test_an_agent_answers_through_its_output_tool(strategy: str, stream: bool) -> None:
    desk = Desk()
    script = structured(strategy, "final_result")
    async with start_proxy(*script, strategy=strategy) as proxy:
        answer = await asked(proxy.url, desk, Answer, stream)
        assert answer == Answer(city="Oslo", degrees=4)
        check(proxy, desk, strategy, "final_result")
