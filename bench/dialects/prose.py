"""What a tool-calling model replied, as a model without tool calling would write it."""

import json
from collections.abc import Iterator
from typing import Any

from bench.dialects.block import Spoken

Json = dict[str, Any]
_PIECE = 5


def written(calls: list[Json], spoken: Spoken) -> str:
    """Calls as text."""
    bodies = (_body(call["function"], spoken) for call in calls)
    return "\n".join(f"<tool_call>{body}</tool_call>" for body in bodies)


def as_prose(completion: Json, spoken: Spoken) -> Json:
    """A buffered reply without calls."""
    for choice in completion.get("choices", []):
        message = choice["message"]
        if calls := message.pop("tool_calls", None):
            message["content"] = _behind(message.get("content"), written(calls, spoken))
            choice["finish_reason"] = _finish(choice["finish_reason"])
    return completion


class Prose:
    """A streamed reply: its calls are written before its end."""

    def __init__(self, spoken: Spoken) -> None:
        self._spoken = spoken
        self._calls: dict[int, dict[int, Json]] = {}
        self._words: dict[int, str] = {}

    def chunks(self, chunk: Json) -> Iterator[Json] | None:
        """The chunks for one, None where it can stay as it is."""
        choices = chunk.get("choices") or []
        if not choices:
            return None
        (choice,) = choices
        at = choice.get("index", 0)
        delta = choice.get("delta") or {}
        self._words[at] = self._words.get(at, "") + (delta.get("content") or "")
        fragments = delta.get("tool_calls") or []
        for fragment in fragments:
            self._take(self._calls.setdefault(at, {}), fragment)
        if not fragments and not (choice.get("finish_reason") and at in self._calls):
            return None
        return self._told(chunk, choice, at)

    def _take(self, calls: dict[int, Json], fragment: Json) -> None:
        empty = {"function": {"name": "", "arguments": ""}}
        function = calls.setdefault(fragment["index"], empty)["function"]
        given = fragment.get("function") or {}
        function["name"] += given.get("name") or ""
        function["arguments"] += given.get("arguments") or ""

    def _told(self, chunk: Json, choice: Json, at: int) -> Iterator[Json]:
        if not choice.get("finish_reason"):
            return
        text = written(list(self._calls.pop(at).values()), self._spoken)
        text = _behind(self._words[at], text)[len(self._words[at]) :]
        for start in range(0, len(text), _PIECE):
            piece = {"content": text[start : start + _PIECE]}
            yield {**chunk, "choices": [{**choice, "delta": piece, "finish_reason": None}]}
        finish = _finish(choice["finish_reason"])
        yield {**chunk, "choices": [{**choice, "finish_reason": finish}]}


def _body(function: Json, spoken: Spoken) -> str:
    name, arguments = function["name"], function["arguments"]
    order = spoken.order.get(name)
    if spoken.dialect == "pformat" and order is not None:
        given = json.loads(arguments) if arguments.endswith("}") else {None: None}
        if given.keys() <= set(order) and all(_is_flat(one) for one in given.values()):
            texts = [_escaped(given[key]) if key in given else "" for key in order]
            return f"{name}[{'|'.join(texts).rstrip('|')}]"
    try:
        json.loads(arguments)
    except ValueError:  # what is no JSON can stand in a string alone
        arguments = json.dumps(arguments)
    return f'{{"name": {json.dumps(name)}, "arguments": {arguments}}}'


def _is_flat(value: object) -> bool:
    return isinstance(value, str | int | float) and value != ""


def _escaped(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    for mark in "\\|]":
        text = text.replace(mark, f"\\{mark}")
    return text


def _behind(words: str | None, text: str) -> str:
    return f"{words}\n{text}" if words else text


def _finish(reason: str) -> str:
    return "stop" if reason == "tool_calls" else reason
