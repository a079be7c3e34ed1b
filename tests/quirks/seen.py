"""What a client makes of a reply. It forgives nothing that an OpenAI SDK stumbles over."""

import json
from dataclasses import dataclass, field

import httpx2

from app.core.codec import Json


@dataclass
class Seen:
    """A reply, put together."""

    ids: set[str] = field(default_factory=set)
    roles: list[str] = field(default_factory=list)
    text: str = ""
    calls: list[list[str]] = field(default_factory=list)
    """Id, name and arguments of each call, in the order of their index."""
    finishes: list[str] = field(default_factory=list)
    usage: list[Json] = field(default_factory=list)
    errors: list[Json] = field(default_factory=list)
    done: int = 0


def seen(response: httpx2.Response) -> Seen:
    """The reply in either framing."""
    if "text/event-stream" in response.headers["content-type"]:
        return streamed(response.content)
    return buffered(response.json())


def buffered(completion: Json) -> Seen:
    """A `chat.completion` or an error object."""
    if "error" in completion:
        return Seen(errors=[completion["error"]])
    assert completion["object"] == "chat.completion"
    (choice,) = completion["choices"]
    assert choice["index"] == 0
    message = choice["message"]
    calls = [
        [call["id"], call["function"]["name"], call["function"]["arguments"]]
        for call in message.get("tool_calls") or []
    ]
    usage = [completion["usage"]] if completion.get("usage") else []
    return Seen(
        {completion["id"]},
        [message["role"]] if message.get("role") else [],
        message.get("content") or "",
        calls,
        [choice["finish_reason"]],
        usage,
        done=1,
    )


def streamed(body: bytes) -> Seen:
    """A stream of `chat.completion.chunk`s."""
    whole = Seen()
    for text in datas(body):
        assert not whole.done, "nothing follows [DONE]"
        if text == "[DONE]":
            whole.done += 1
        else:
            _take(whole, json.loads(text))
    return whole


def datas(body: bytes) -> list[str]:
    """The data of each event, as the specification reads it, byte-order mark not admitted."""
    lines = body.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert lines[-1] == "", "the last event is complete"
    found, data = [], []
    for line in lines:
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
        elif not line and data:
            found.append("\n".join(data))
            data = []
    assert not data, "the last event ends with a blank line"
    return found


def _take(whole: Seen, chunk: Json) -> None:
    if "error" in chunk:
        whole.errors.append(chunk["error"])
        return
    whole.ids.add(chunk["id"])
    whole.usage += [chunk["usage"]] if chunk.get("usage") else []
    for choice in chunk["choices"]:
        assert choice["index"] == 0
        delta = choice.get("delta") or {}
        whole.roles += [delta["role"]] if delta.get("role") else []
        whole.text += delta.get("content") or ""
        for fragment in delta.get("tool_calls") or []:
            _call(whole, fragment)
        whole.finishes += [choice["finish_reason"]] if choice.get("finish_reason") else []


def _call(whole: Seen, fragment: Json) -> None:
    """SDKs key on the index, expect no gap, and join names and ids that come twice."""
    index, function = fragment["index"], fragment.get("function") or {}
    if index == len(whole.calls):
        whole.calls.append([fragment["id"], function["name"], ""])
    else:
        assert index < len(whole.calls), "no index is skipped"
        assert not fragment.get("id")
        assert not function.get("name")
    whole.calls[index][2] += function.get("arguments") or ""
