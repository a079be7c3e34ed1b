"""A relay between Toolfold and the model that counts what the model is billed for.

Toolfold's own rounds are not seen by the app, so the app cannot count them. Both routes pass here.
"""

from dataclasses import dataclass

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from app.core.codec import decode_object
from bench.live.endpoint import Endpoint

_DROPPED = {"host", "content-length", "connection", "transfer-encoding", "accept-encoding"}


@dataclass(frozen=True)
class Billed:
    """One request, as the endpoint answered it."""

    status: int
    prompt: int = 0
    completion: int = 0
    """Tokens that it reports, 0 where it reports none."""


class Meter:
    """The ASGI app."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.billed: list[Billed] = []
        self._endpoint = endpoint
        route = Route("/v1/{path:path}", self._pass_on, methods=["POST", "GET"])
        self._app = Starlette(routes=[route])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    async def _pass_on(self, request: Request) -> Response:
        kept = {k: v for k, v in request.headers.items() if k not in _DROPPED}
        url = f"{self._endpoint.base_url}/{request.path_params['path']}"
        async with httpx2.AsyncClient(timeout=self._endpoint.seconds) as client:
            answer = await client.request(
                request.method, url, content=await request.body(), headers=kept
            )
        self.billed.append(_billed(answer))
        media = answer.headers.get("content-type")
        return Response(answer.content, answer.status_code, media_type=media)


def _billed(answer: httpx2.Response) -> Billed:
    usage = (decode_object(answer.content) or {}).get("usage")
    usage = usage if isinstance(usage, dict) else {}
    prompt, completion = (usage.get(f"{name}_tokens") for name in ("prompt", "completion"))
    return Billed(answer.status_code, int(prompt or 0), int(completion or 0))
