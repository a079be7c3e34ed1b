"""Replies as chunks. A buffered `chat.completion` is a stream of one chunk.

`message` and `delta` are the only difference, so everything above this file reads and
writes chunks and never asks whether the client streams.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from app.core.codec import Json, fused

_GROWING = frozenset(
    {
        "content",
        "refusal",
        "reasoning",
        "reasoning_content",
        "arguments",
        "input",
        "text",
        "summary",
        "transcript",
    }
)
"""Members whose pieces are joined. Any other string is replaced: pieces of an id or a role
are not a thing that servers send, repetitions are."""


class Chunk(NamedTuple):
    """One chunk of a reply, and the bytes that said it as long as they still do."""

    data: Json
    """Empty for an event that is not a chunk, such as a comment."""
    raw: bytes | None = None
    """As it came: an SSE event with its blank line, or a whole JSON body."""


DONE = Chunk({}, b"data: [DONE]\n\n")
"""The upstream said that its reply is complete."""
END = Chunk({})
"""The reply ended without that word."""


def as_chunk(completion: Json) -> Json:
    """A buffered reply as the one chunk that says it; calls get the index they imply."""
    return {
        **completion,
        "object": "chat.completion.chunk",
        "choices": [_with_delta(choice) for choice in dicts(completion.get("choices"))],
    }


def as_completion(chunk: Json) -> Json:
    """The buffered reply that a folded chunk says."""
    return {
        **chunk,
        "object": "chat.completion",
        "choices": [_with_message(choice) for choice in dicts(chunk.get("choices"))],
    }


def fold(chunks: Iterable[Json]) -> Json:
    """The single chunk that says what these say, in order."""
    whole: Json = {}
    for chunk in chunks:
        merge(whole, chunk)
    return joined(whole)


def merge(whole: Json, part: Json, without: str = "") -> None:
    """Add a part, less one member, to a whole whose texts are lists of pieces until `joined`."""
    for key, value in part.items():
        if key == without:
            continue
        if value is None or value == "":  # says nothing, as null does
            whole.setdefault(key, value)
        elif isinstance(value, str) and key in _GROWING:
            _grow(whole, key, value)
        elif isinstance(value, dict):
            merge(_own(whole, key, dict), value)
        elif isinstance(value, list):
            _extend(_own(whole, key, list), value)
        else:
            whole[key] = value


def joined(whole: Json) -> Json:
    """The whole as a plain value: what `merge` has collected, with its texts put together."""
    return {key: _joined(value) for key, value in whole.items()}


def dicts(value: object) -> Iterator[Json]:
    """The objects of a list; nothing where an upstream sends something else."""
    return (
        (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())
    )


def usage_of(chunk: Json) -> Json | None:
    """What a chunk says of the tokens used, where it is an object that says something."""
    usage = chunk.get("usage")
    return usage if isinstance(usage, dict) and usage else None


class _Pieces(list[str]):
    """A text that still grows. Joined once: adding strings costs the square of their number."""


def _grow(whole: Json, key: str, piece: str) -> None:
    pieces = whole.get(key)
    if not isinstance(pieces, _Pieces):
        pieces = whole[key] = _Pieces([pieces] if isinstance(pieces, str) else [])
    pieces.append(piece)


def _own(whole: Json, key: str, kind: type[Any]) -> Any:
    value = whole.get(key)
    if type(value) is not kind:
        value = whole[key] = kind()
    return value


def _extend(whole: list[Any], part: list[Any]) -> None:
    """Entries with an `index` merge by its value; the others are appended."""
    for entry in part:
        if not isinstance(entry, dict):
            whole.append(entry)
            continue
        index = entry.get("index")
        same = (e for e in dicts(whole) if index is not None and e.get("index") == index)
        into = next(same, None)
        if into is None:
            whole.append(into := {})
        merge(into, entry)


def _joined(value: Any) -> Any:
    if isinstance(value, _Pieces):
        return fused(value)
    if isinstance(value, dict):
        return joined(value)
    if isinstance(value, list):
        return [_joined(item) for item in value]
    return value


def _with_delta(choice: Json) -> Json:
    out = {"delta" if key == "message" else key: value for key, value in choice.items()}
    delta = out.get("delta")
    if isinstance(delta, dict) and delta.get("tool_calls"):
        calls = list(dicts(delta["tool_calls"]))
        out["delta"] = {
            **delta,
            "tool_calls": [{"index": at, **call} for at, call in enumerate(calls)],
        }
    return out


def _with_message(choice: Json) -> Json:
    out = {"message" if key == "delta" else key: value for key, value in choice.items()}
    message = out.get("message")
    if isinstance(message, dict) and message.get("tool_calls"):
        calls = [
            {k: v for k, v in call.items() if k != "index"} for call in dicts(message["tool_calls"])
        ]
        out["message"] = {**message, "tool_calls": calls}
    return out
