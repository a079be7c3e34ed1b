"""The embedded upstream: rules and model behind `POST /v1/chat/completions`, as OpenAI serves them.

It records every request, so that the demo prints what the upstream really got and not what
Toolfold says it sent.
"""

import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app.core.codec import Json
from app.demo.cache import Cache, Prompt
from app.demo.frames import Envelope, chunks, completion
from app.demo.model import Reply, reply
from app.demo.refusal import Refusal
from app.demo.rules import MAX_TOOLS, refusal

_READ = ("tools", "messages")
"""What of a request the model reads, in this order."""


@dataclass(frozen=True)
class Record:
    """One request as it arrived."""

    status: int
    size: int
    """Bytes of the body."""
    tools: int
    prompt_tokens: int
    """What it would be billed; nothing when it is refused."""
    cached_tokens: int = 0
    """Of these, the beginning that an earlier request had too."""


class Upstream:
    """The ASGI app. `count` counts the tokens of a text; `max_tools` None lifts OpenAI's limit."""

    def __init__(self, count: Callable[[str], int], *, max_tools: int | None = MAX_TOOLS) -> None:
        self.records: list[Record] = []
        # The same tools come with every request of a task, and counting 250 kB takes a while.
        self._count = lru_cache(maxsize=64)(count)
        self._cache = Cache(self._count)
        self._max_tools = max_tools
        route = Route("/v1/chat/completions", self._complete, methods=["POST"])
        self._app = Starlette(routes=[route])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    async def _complete(self, request: Request) -> Response:
        body = await request.body()
        try:
            asked = json.loads(body)
        except ValueError:
            asked = None
        if not isinstance(asked, dict):
            unparsed = Refusal("We could not parse the JSON body of your request.")
            return self._refused(unparsed, size=len(body), tools=0)
        if objection := refusal(asked, max_tools=self._max_tools):
            tools = asked.get("tools")
            counted = len(tools) if isinstance(tools, list) else 0
            return self._refused(objection, size=len(body), tools=counted)
        return self._replied(asked, body)

    def _refused(self, objection: Refusal, *, size: int, tools: int) -> Response:
        self.records.append(Record(objection.status, size, tools, prompt_tokens=0))
        return JSONResponse(objection.body(), objection.status)

    def _replied(self, asked: Json, body: bytes) -> Response:
        said = reply(asked)
        # Ids follow from the bytes, so that equal requests cost equally many tokens ever after.
        key = sha256(body).hexdigest()[:22]
        envelope = self._envelope(asked, said, key=key)
        self.records.append(
            Record(
                status=200,
                size=len(body),
                tools=len(asked.get("tools", ())),
                prompt_tokens=envelope.usage["prompt_tokens"],
                cached_tokens=envelope.usage["prompt_tokens_details"]["cached_tokens"],
            )
        )
        if not asked.get("stream"):
            return JSONResponse(completion(said, envelope))
        include_usage = bool((asked.get("stream_options") or {}).get("include_usage"))
        events = _events(said, envelope, include_usage=include_usage)
        return StreamingResponse(events, media_type="text/event-stream")

    def _envelope(self, asked: Json, said: Reply, *, key: str) -> Envelope:
        tools, messages = (_compact(asked[key]) if key in asked else "" for key in _READ)
        prompt = Prompt(tools, messages)
        asking = prompt.tokens(self._count)
        spoken = [said.text or "", *(f"{call.name}{call.arguments}" for call in said.calls)]
        completed = sum(self._count(text) for text in spoken)
        return Envelope(
            id=f"chatcmpl-{key}",
            created=int(time.time()),
            model=asked["model"],
            call_ids=tuple(f"call_{key}{index:02}" for index in range(len(said.calls))),
            usage={
                "prompt_tokens": asking,
                "completion_tokens": completed,
                "total_tokens": asking + completed,
                "prompt_tokens_details": {"cached_tokens": self._cache.serve(prompt)},
            },
        )


async def _events(said: Reply, envelope: Envelope, *, include_usage: bool) -> AsyncIterator[str]:
    for chunk in chunks(said, envelope, include_usage=include_usage):
        yield f"data: {_compact(chunk)}\n\n"
    yield "data: [DONE]\n\n"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
