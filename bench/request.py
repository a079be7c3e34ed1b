"""The request: 300 tools, about 240 kB.

`known` sends the same bytes again and again, as an agent does. `unknown` rewrites every tool's
description each time, so that nothing of its catalog was ever seen before.
"""

import json
import secrets
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from app.demo.catalog import catalog

TOOLS = 300
KEY = "sk-" + secrets.token_hex(24)
"""Only LiteLLM's proxy asks for one; all rows send it, so that all send the same."""
_SERIAL = "0123456789abcdef"

Requests = Callable[[int], Iterator[bytes]]
"""Endless requests, each for a stream of so many chunks, or for a buffered reply when 0."""


def known(chunks: int = 0) -> Iterator[bytes]:
    request = _http(_body(catalog(TOOLS), chunks))
    while True:
        yield request


def unknown(chunks: int = 0) -> Iterator[bytes]:
    tools = deepcopy(catalog(TOOLS))
    for tool in tools:
        tool["function"]["description"] += f" Build {_SERIAL}."
    pieces = _http(_body(tools, chunks)).split(_SERIAL.encode())
    while True:
        yield (b"%016x" % time.time_ns()).join(pieces)


def size() -> int:
    """Bytes of the body."""
    return len(_body(catalog(TOOLS), 0))


def _body(tools: list[dict[str, Any]], chunks: int) -> bytes:
    body = {
        "model": "gpt-4o",
        "stream": chunks > 0,
        "max_tokens": chunks or 1024,
        "messages": [
            {"role": "system", "content": "You keep our systems running. Be brief."},
            {"role": "user", "content": "Is anything on fire in staging?"},
        ],
        "tools": tools,
    }
    return json.dumps(body, separators=(",", ":")).encode()


def _http(body: bytes) -> bytes:
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {KEY}\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
