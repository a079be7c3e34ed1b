"""The vocabulary of the tests: requests, tools, replies, and replies cut into streams."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from app.core.codec import Json

MODEL = "m"


def tool(name: str, description: str = "Does it.", **properties: str) -> Json:
    """A function tool; a property whose type ends in `?` is optional."""
    required = [key for key, kind in properties.items() if not kind.endswith("?")]
    parameters = {
        "type": "object",
        "properties": {key: {"type": kind.rstrip("?")} for key, kind in properties.items()},
        "required": required,
    }
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


def numbered(count: int, description_chars: int = 1) -> list[Json]:
    """`t00`, `t01`, ...: tools that only their names tell apart."""
    empty = {"type": "object", "properties": {}}
    return [
        {
            "type": "function",
            "function": {
                "name": f"t{at:02}",
                "description": "x" * description_chars,
                "parameters": empty,
            },
        }
        for at in range(count)
    ]


WEATHER = tool("get_weather", "Current weather in a city.", city="string", units="string?")
ISSUE = tool(
    "github__create_issue", "Create an issue in a repository.", repo="string", title="string"
)
REFUND = tool(
    "stripe__refund_payment", "Give the money of a payment back.", payment="string", cents="integer"
)
FILLER = [
    tool(f"crm__{verb}_{noun}", f"{verb.title()} a {noun} of the CRM.", id="string", note="string?")
    for noun in ("contact", "deal", "lead", "campaign")
    for verb in ("read", "archive", "merge", "export")
]
CATALOG = [WEATHER, ISSUE, REFUND, *FILLER]


def request(tools: Sequence[Json] = CATALOG, text: str = "Hello", **members: Any) -> Json:
    """A chat-completions request."""
    messages = [{"role": "user", "content": text}]
    return {"model": MODEL, "messages": messages, "tools": list(tools), **members}


def body(tools: Sequence[Json] = CATALOG, text: str = "Hello", **members: Any) -> bytes:
    """The same as the bytes that an SDK would send."""
    return dumps(request(tools, text, **members))


def dumps(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def call(identifier: str, name: str, arguments: Any = None, **extra: Any) -> Json:
    """A tool call; arguments that are a string are taken as written."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    function = {"name": name, "arguments": text}
    return {"id": identifier, "type": "function", "function": function, **extra}


def search(identifier: str, *queries: str) -> Json:
    """A call of the bridge."""
    return call(identifier, "tool_search", {"queries": list(queries)})


def reply(*said: str | Json, n: int = 1, finish: str | None = None, **beside: Any) -> Json:
    """A buffered reply: its words, then its calls. `beside` goes into the message."""
    text = "".join(part for part in said if isinstance(part, str))
    calls = [part for part in said if isinstance(part, dict)]
    message: Json = {"role": "assistant", "content": text or None, **beside}
    if calls:
        message["tool_calls"] = calls
    reason = finish or ("tool_calls" if calls else "stop")
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    usage = {
        "prompt_tokens": 10 * n,
        "completion_tokens": n,
        "total_tokens": 11 * n,
        "prompt_tokens_details": {"cached_tokens": n},
    }
    return {
        "id": f"chatcmpl-{n}",
        "object": "chat.completion",
        "created": n,
        "model": MODEL,
        "choices": [choice],
        "usage": usage,
    }


def streamed(completion: Json, cut: int = 3) -> Iterator[Json]:
    """The same reply as OpenAI streams it, texts cut into pieces of so many characters."""
    frame = {key: completion[key] for key in ("id", "created", "model")}
    choice = completion["choices"][0]
    message = choice["message"]

    def chunk(delta: Json, finish: str | None = None) -> Json:
        choices = [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
        return {**frame, "object": "chat.completion.chunk", "choices": choices, "usage": None}

    yield chunk({"role": "assistant", "content": "" if message["content"] else None})
    for key in ("reasoning_content", "content"):
        for piece in _pieces(message.get(key) or "", cut):
            yield chunk({key: piece})
    for index, one in enumerate(message.get("tool_calls", [])):
        function = one["function"]
        head = {**one, "function": {"name": function["name"], "arguments": ""}}
        yield chunk({"tool_calls": [{"index": index, **head}]})
        for piece in _pieces(function["arguments"], cut):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, choice["finish_reason"])
    yield {**chunk({}), "choices": [], "usage": completion["usage"]}


def events(*chunks: Json, done: bool = True) -> bytes:
    """Chunks as server-sent events."""
    lines = [b"data: " + dumps(chunk) + b"\n\n" for chunk in chunks]
    return b"".join([*lines, b"data: [DONE]\n\n"] if done else lines)


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]
