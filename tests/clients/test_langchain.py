"""LangChain's agent: words, and an answer through its output tool."""

from typing import Any

import pytest

pytest.importorskip("langchain_openai", reason="the extra `frameworks` is not installed")

from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

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


async def asked(url: str, desk: Desk, stream: bool, output: Any = None) -> tuple[Any, str]:
    """The state that the agent ends in, and the words that were streamed."""

    def tool(name: str, description: str, parameters: Any) -> StructuredTool:
        async def run(**arguments: Any) -> str:
            return desk.run(name, arguments)

        return StructuredTool(
            name=name, description=description, args_schema=parameters, coroutine=run
        )

    model = ChatOpenAI(model=MODEL, base_url=url, api_key=SecretStr("k"), stream_usage=True)
    tools = [tool(**function) for function in FUNCTIONS]
    agent: Any = create_agent(model, tools, response_format=output)
    given = {"messages": [{"role": "user", "content": ASKED}]}
    if not stream:
        return await agent.ainvoke(given), ""
    state, words = None, ""
    async for mode, event in agent.astream(given, stream_mode=["messages", "values"]):
        if mode == "values":
            state = event
        elif event[1]["langgraph_node"] == "model":
            words += event[0].text
    return state, words


@each_framing
@each_strategy
async def test_an_agent_searches_calls_and_answers(strategy: str, stream: bool) -> None:
    desk = Desk()
    async with start_proxy(*spoken(strategy), strategy=strategy) as proxy:
        state, words = await asked(proxy.url, desk, stream)
        assert state["messages"][-1].text == WORDS
        assert state["messages"][-1].usage_metadata["total_tokens"] == 33
        assert words == (WORDS if stream else "")
        check(proxy, desk, strategy)


@each_framing
@each_strategy
async def test_an_agent_answers_through_its_output_tool(strategy: str, stream: bool) -> None:
    desk = Desk()
    async with start_proxy(*structured(strategy, "Answer"), strategy=strategy) as proxy:
        state, _ = await asked(proxy.url, desk, stream, ToolStrategy(Answer))
        assert state["structured_response"] == Answer(city="Oslo", degrees=4)
        check(proxy, desk, strategy, "Answer")
