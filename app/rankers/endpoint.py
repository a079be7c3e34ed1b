"""One question to an HTTP endpoint, or the reason why there is no answer."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

import httpx2
import msgspec

from app.core.codec import Json, encode
from app.core.errors import Broken
from app.rankers import RankerFailed
from app.upstream import Upstream, raw_parts

Answer = TypeVar("Answer")
_PATIENCE = 30.0
"""Seconds for an answer: a model on a CPU takes many for a batch of tools. A search waits for
less."""
_LARGEST = 32 * 1024 * 1024
"""Bytes of an answer that are read: a batch of 64 vectors of 4,096 numbers takes 8 million."""


class Endpoint:
    """Where a remote ranker is served. Answers whole and in time, or not at all."""

    def __init__(self, upstream: Upstream, target: bytes, key: str) -> None:
        self._upstream = upstream
        self._target = target
        self._headers = [
            (b"content-type", b"application/json"),
            (b"accept", b"application/json"),
            (b"accept-encoding", b"identity"),
        ]
        if key:
            self._headers.append((b"authorization", f"Bearer {key}".encode()))

    async def ask(self, question: Json, kind: type[Answer]) -> Answer:
        """The answer to a question, of this shape. Raises RankerFailed."""
        try:
            async with asyncio.timeout(_PATIENCE):
                body = await self._body(question)
        except TimeoutError:
            raise RankerFailed("timeout") from None
        except Broken as broken:
            slow = broken.code == "upstream_timeout"
            raise RankerFailed("timeout" if slow else "unreachable") from None
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.DecodeError, RecursionError):
            raise RankerFailed("malformed") from None

    async def _body(self, question: Json) -> bytes:
        asked, until = encode(question), self._upstream.deadline()
        async with self._upstream.open(
            "POST", self._target, self._headers, asked, until
        ) as response:
            if response.status_code != httpx2.codes.OK:
                raise RankerFailed("refused")
            body = bytearray()
            async for part in raw_parts(response):
                body += part
                if len(body) > _LARGEST:
                    raise RankerFailed("malformed")
            return bytes(body)

    async def aclose(self) -> None:
        """Let go of every connection."""
        await self._upstream.aclose()


async def together(questions: Iterable[Coroutine[Any, Any, Answer]]) -> list[Answer]:
    """The answers to questions that are asked at the same time; one that fails stops the
    others. Raises RankerFailed."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(question) for question in questions]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]
