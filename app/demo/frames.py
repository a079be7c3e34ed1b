"""A reply in OpenAI's two framings: one `chat.completion`, or the chunks of a stream."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.core.codec import Json
from app.demo.model import Reply

_PIECE = 12  # Characters a delta: short, so that arguments really arrive in pieces.


@dataclass(frozen=True)
class Envelope:
    """What surrounds a reply on the wire."""

    id: str
    created: int
    model: str
    call_ids: tuple[str, ...]
    usage: Json

    def around(self, kind: str) -> Json:
        """The members that a completion and each chunk share."""
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def completion(reply: Reply, envelope: Envelope) -> Json:
    """The buffered framing."""
    message: Json = {"role": "assistant", "content": reply.text, "refusal": None}
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call_id, call in zip(envelope.call_ids, reply.calls, strict=True)
        ]
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": reply.finish_reason,
    }
    return envelope.around("chat.completion") | {"choices": [choice], "usage": envelope.usage}


def chunks(reply: Reply, envelope: Envelope, *, include_usage: bool) -> Iterator[Json]:
    """The streamed framing: role, then text and calls in pieces, the finish, the usage."""
    around = envelope.around("chat.completion.chunk")
    # With `include_usage` every chunk has the member, and it is null until the last one.
    usage: Json = {"usage": None} if include_usage else {}
    for delta in _deltas(reply, envelope.call_ids):
        yield around | {"choices": [_choice(delta)]} | usage
    yield around | {"choices": [_choice({}, finish_reason=reply.finish_reason)]} | usage
    if include_usage:
        yield around | {"choices": [], "usage": envelope.usage}


def _choice(delta: Json, *, finish_reason: str | None = None) -> Json:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _deltas(reply: Reply, call_ids: tuple[str, ...]) -> Iterator[Json]:
    opening = None if reply.text is None else ""
    yield {"role": "assistant", "content": opening, "refusal": None}
    for piece in _pieces(reply.text or ""):
        yield {"content": piece}
    for index, (call_id, call) in enumerate(zip(call_ids, reply.calls, strict=True)):
        head = {"index": index, "id": call_id, "type": "function"}
        yield {"tool_calls": [head | {"function": {"name": call.name, "arguments": ""}}]}
        for piece in _pieces(call.arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))
