"""The app: an ordinary tool loop over the unmodified `openai` SDK.

It knows nothing of folding. The same code runs with the upstream's address and with Toolfold's.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

import openai
from openai.types.chat import ChatCompletionChunk

from app.core.codec import Json

SYSTEM = "You are the assistant of a trading company. Use your tools; do not guess."
_MAX_TURNS = 8


def connect(base_url: str) -> openai.OpenAI:
    """A client of one address, to be used in a `with` block."""
    # Requests stay on this machine, whatever proxy the environment names.
    local = openai.DefaultHttpxClient(trust_env=False)
    return openai.OpenAI(base_url=base_url, api_key="demo", max_retries=0, http_client=local)


class Chat:
    """One conversation: its messages, and the tools that may be run in it."""

    def __init__(
        self,
        api: openai.OpenAI,
        *,
        tools: list[Json],
        run: Callable[[str, Json], str],
        stream: bool,
    ) -> None:
        self._api = api
        self._tools = tools
        self._run = run
        self._stream = stream
        self._messages: list[Json] = [{"role": "system", "content": SYSTEM}]

    def ask(self, question: str) -> str:
        """Put a question to the model, run the tools that it calls, and return its answer."""
        self._messages.append({"role": "user", "content": question})
        for _ in range(_MAX_TURNS):
            message = _reply(
                self._api, messages=self._messages, tools=self._tools, stream=self._stream
            )
            self._messages.append(message)
            if "tool_calls" not in message:
                return str(message["content"])
            self._messages += [_result(call, self._run) for call in message["tool_calls"]]
        return f"The model went on calling tools after {_MAX_TURNS} turns."


def solve(
    api: openai.OpenAI,
    ask: str,
    *,
    tools: list[Json],
    run: Callable[[str, Json], str],
    stream: bool,
) -> str:
    """The answer to a question that is a conversation of its own."""
    return Chat(api, tools=tools, run=run, stream=stream).ask(ask)


def _reply(api: openai.OpenAI, *, messages: list[Json], tools: list[Json], stream: bool) -> Json:
    # The SDK's parameter types spell out every tool; plain JSON is what goes on the wire.
    create: Any = api.chat.completions.create
    request = {"model": "demo-model", "messages": messages, "tools": tools}
    if not stream:
        message = create(**request).choices[0].message.model_dump()
        return _spoken(message["content"], message["tool_calls"] or [])
    with create(**request, stream=True, stream_options={"include_usage": True}) as chunks:
        return _assembled(chunks)


def _assembled(chunks: Iterable[ChatCompletionChunk]) -> Json:
    """The message that the chunks of a stream add up to."""
    content, calls = "", dict[int, Json]()
    for chunk in chunks:
        for choice in chunk.choices:
            content += choice.delta.content or ""
            for piece in choice.delta.tool_calls or ():
                blank = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
                call = calls.setdefault(piece.index, blank)
                call["id"] += piece.id or ""
                if piece.function:
                    call["function"]["name"] += piece.function.name or ""
                    call["function"]["arguments"] += piece.function.arguments or ""
    return _spoken(content, list(calls.values()))


def _spoken(content: str | None, calls: list[Json]) -> Json:
    message: Json = {"role": "assistant", "content": content}
    return {**message, "tool_calls": calls} if calls else message


def _result(call: Json, run: Callable[[str, Json], str]) -> Json:
    function = call["function"]
    output = run(function["name"], json.loads(function["arguments"]))
    return {"role": "tool", "tool_call_id": call["id"], "content": output}
