"""C50: nothing of what is said in a conversation is written anywhere, at DEBUG either."""

import json
import re
from contextlib import suppress
from typing import Any
from uuid import uuid4

import httpx2

from tests.builders import (
    CATALOG,
    body,
    call,
    dumps,
    events,
    numbered,
    reply,
    search,
    streamed,
    tool,
)
from tests.replica import started
from tests.upstream import Raw, Received, Scripted, upstream

WHERE = (
    *("key", "own_key", "policy_token", "query_string", "cookie", "prompt", "system", "tool_text"),
    *("parameter", "enum", "arguments", "result", "query", "reply", "reasoning", "refusal"),
    *("upstream_header", "broken_body", "upload", "vendor_member", "session"),
)
CANARY = {name: f"canary-{name}-{uuid4().hex}" for name in WHERE}
HEADERS = {
    "content-type": "application/json",
    "authorization": f"Bearer {CANARY['key']}",
    "cookie": f"sid={CANARY['cookie']}",
}
OWN = {
    "x-toolfold-key": CANARY["own_key"],
    "x-toolfold-policy-token": CANARY["policy_token"],
    "x-toolfold-session": CANARY["session"],
    "x-toolfold-tenant": CANARY["session"],
    "x-toolfold-hidden": CANARY["policy_token"],
    "x-toolfold-limit": CANARY["policy_token"],
}
"""Each is refused, or obeyed: in either case it is not told."""
TOOLS = [
    *CATALOG,
    tool("secretive", CANARY["tool_text"], **{CANARY["parameter"]: "string"}),
    {
        "type": "function",
        "function": {
            "name": "chosen",
            "description": CANARY["tool_text"],
            "parameters": {
                "type": "object",
                "properties": {"x": {"type": "string", "enum": [CANARY["enum"]]}},
            },
        },
    },
]


def messages(*more: Any) -> list[Any]:
    return [
        {"role": "system", "content": CANARY["system"]},
        {"role": "user", "content": CANARY["prompt"]},
        *more,
    ]


CALLED = call("c1", "get_weather", {"city": CANARY["arguments"]})
HISTORY = messages(
    {"role": "assistant", "content": CANARY["reply"], "tool_calls": [CALLED]},
    {"role": "tool", "tool_call_id": "c1", "content": CANARY["result"]},
)
ERROR = {"error": {"message": CANARY["refusal"], "type": "x", "code": CANARY["refusal"]}}
BACK = {"x-vendor": CANARY["upstream_header"], "set-cookie": f"s={CANARY['upstream_header']}"}
JSON = "application/json"


def said(*what: Any, **beside: Any) -> Scripted:
    """A completion in the framing that was asked for, where it can be read what was."""
    completion = reply(*what, **beside)

    def made(received: Received) -> Raw:
        try:
            streams = received.json.get("stream")
        except (ValueError, RecursionError):
            return Raw(json.dumps(ERROR).encode(), 400, JSON, BACK)
        if streams:
            return Raw(events(*streamed(completion)), headers=BACK)
        return Raw(dumps(completion), 200, JSON, BACK)

    return made


SCRIPT: list[Scripted] = [
    said(search("s1", CANARY["query"], "weather"), reasoning_content=CANARY["reasoning"]),
    said(CANARY["reply"], CALLED),
    said(call("w1", "github__create_issue", {"bad": CANARY["arguments"]})),
    said(CANARY["reply"]),
    said(call("u1", "no_such_tool", {"bad": CANARY["arguments"]})),
    said(call("u2", "tool_search", f'{{"queries": "{CANARY["query"]}')),
    said(CANARY["reply"]),
    Raw(json.dumps(ERROR).encode(), 400, JSON, BACK),
    Raw(CANARY["reply"].encode(), 200, JSON, BACK),
    Raw(b'data: {"choices": "' + CANARY["reply"].encode() + b'"}\n\n', headers=BACK),
    Raw(b"data: " + json.dumps(ERROR).encode() + b"\n\n", headers=BACK),
    Raw(b'data: {"x": "' + CANARY["reply"].encode(), cut=True, headers=BACK),
    Raw(b"HTTP nonsense " + CANARY["reply"].encode(), content_type=f"x/{CANARY['reply']}"),
]


def bodies() -> list[bytes]:
    deep = b'{"tools": ' + b"[" * 5_000 + CANARY["broken_body"].encode()
    odd = body(TOOLS).replace(b'"Hello"', b'"\\ud800 ' + CANARY["prompt"].encode() + b'"')
    ours = {"vendor_member": CANARY["vendor_member"], "user": CANARY["vendor_member"]}
    conversations = [
        body(TOOLS, messages=messages(), **ours),
        body(TOOLS, messages=HISTORY, stream=True),
        body(TOOLS, messages=HISTORY, tool_choice={"type": CANARY["broken_body"]}),
        odd,
        deep,
        b'{"model": "m", "tools": [{"type": "function"}], "x": "' + CANARY["broken_body"].encode(),
        body([*TOOLS, *TOOLS], messages=messages()),
        body([*numbered(200), *TOOLS, *TOOLS], messages=messages()),
    ]
    return conversations * 4


async def converse(url: str) -> None:
    uploaded = json.dumps({"input": CANARY["upload"], "tools": TOOLS * 20}).encode()
    chat = f"/chat/completions?key={CANARY['query_string']}"
    sent = [*((chat, one) for one in bodies()), ("/responses", uploaded), ("/../x", uploaded)]
    async with httpx2.AsyncClient(timeout=20) as client:
        for path, content in sent:
            with suppress(httpx2.RemoteProtocolError):  # a stream that is cut off is cut off here
                await client.post(url + path, content=content, headers=HEADERS)
        for own in OWN.items():
            with suppress(httpx2.RemoteProtocolError):
                await client.post(url + chat, content=body(TOOLS), headers=[*HEADERS.items(), own])


async def test_no_canary_is_written_anywhere() -> None:
    async with (
        upstream(Raw(content_type="application/x-protobuf")) as collector,
        upstream(*SCRIPT, *SCRIPT, *SCRIPT) as behind,
        started(
            behind,
            drain_delay=0,
            log_level="debug",
            otlp_endpoint=collector.url,
            ranker_mode="compare",
            alarm_after=1,
        ) as replica,
    ):
        await converse(replica.url)
        pages = [
            (await replica.client.get(replica.admin + path)).content
            for path in ("/metrics", "/stats.json", "/healthz")
        ]
        sent = b"".join(received.body for received in behind.received)
        assert await replica.leave(30) == 0, replica.log()
        written = replica.log().encode()
        spans = b"".join(received.body for received in collector.received)
    for name in ("prompt", "tool_text", "arguments", "query", "result"):
        assert CANARY[name].encode() in sent, f"{name} has to be said to be looked for"
    for what in (written, spans, *pages):
        assert what
        assert re.findall(rb"canary-\w+-", what) == []
    for line in written.splitlines():
        assert json.loads(line)["ts"], "one JSON object a line"


async def test_exit_does_not_wait_for_a_collector_that_is_mute() -> None:
    """C38: the process ends by itself, before the SDK alone would have given up."""
    silent = Raw(stall=True, content_type="application/json")
    async with (
        upstream(silent) as collector,
        upstream(reply("Hi")) as behind,
        started(behind, drain_delay=0, otlp_endpoint=collector.url) as replica,
    ):
        response = await replica.post(body(TOOLS))
        assert response.status_code == 200
        assert await replica.leave(25) == 0, replica.log()
