"""What an upstream says when it refuses the form of a request."""

import re
from collections.abc import Iterable
from typing import Any

from app.core.codec import decode, decode_object
from app.core.errors import Erred, Refused, UpstreamFailed

_STATUSES = (400, 422)
"""What upstreams say to a request whose form they do not take. Anything else (401, 404, 413,
429, 5xx) is not about form."""
_LONGEST = 20_000
_OF_THE_MODEL = re.compile(
    r"tool_use_failed|attempted to call|tool call validation|failed_generation|"
    r"not in request\.tools"
)
"""The model's call was refused, not our request."""
_OF_ITS_OUTPUT = re.compile(
    r"(?:model|assistant) (?:produced|generated|returned)\b.{0,40}\b(?:not|invalid|malformed)\b|"
    r"(?:parse|match)\w* (?:the )?(?:model|assistant)(?:'s)? (?:output|response|reply)"
)
"""llama.cpp's server holds what its model says to a grammar of the tools that are declared. A call
of another one is a 500 that does not name it: "The model produced output that does not match"."""
_OF_THE_CLIENT = re.compile(
    r"context[ _](?:length|window|size)|maximum context|too many tokens|exceed_context|"
    r"content[ _](?:policy|filter)|safety|billing|quota|credits?\b|response_format|"
    r"json(?:[ _]mode|_schema|_object)|response mime|"
    r"(?:tools?|tool use|function call\w*) (?:is|are) not supported|"
    r"not support (?:tools?|function|tool[ _-]?\w+)\b"
)
"""Nothing that another form, or the request as it was, could mend."""
_CODES = re.compile(r"\binvalid[_ ](?:request|argument|function|value|param)\w*|badrequesterror")
"""Words of every refusal."""
_WRAPPINGS = frozenset(
    {"error", "errors", "message", "type", "param", "code", "detail", "msg", "object", "status"}
)


def said(refusal: Refused) -> str | None:
    """What a refusal says, in small letters: all its texts, but for those that repeat the
    request. None where it is not about the form of a request."""
    if refusal.status not in _STATUSES:
        return None
    text = _said(refusal)
    return None if _OF_THE_MODEL.search(text) or _OF_THE_CLIENT.search(text) else text


def is_of_its_output(refusal: Refused) -> bool:
    """Whether the upstream could not make sense of what its model said."""
    return _OF_ITS_OUTPUT.search(_said(refusal)) is not None


def _said(refusal: Refused) -> str:
    try:
        texts = list(_texts(decode(refusal.body)))
    except (ValueError, RecursionError):
        texts = [refusal.body.decode("utf-8", "replace")]
    return _CODES.sub("", " ".join(texts)[:_LONGEST].lower())


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        for name, member in value.items():
            if name in ("loc", "path") and isinstance(member, list):
                yield ".".join(map(str, member))
            elif name not in ("input", "ctx", "body", "url"):
                yield "" if name in _WRAPPINGS else str(name)
                yield from _texts(member)
    elif isinstance(value, list):
        for member in value:
            yield from _texts(member)
    elif isinstance(value, str):
        inner = value.lstrip()
        try:  # gateways put the refusal of whom they asked into a text
            yield from _texts(decode(inner)) if inner.startswith(("{", "[")) else [value]
        except ValueError:
            yield value
    elif value is not None:
        yield str(value)


def refused(failure: UpstreamFailed) -> Refused | None:
    """A refusal, which some gateways put into a reply that begins with 200."""
    if isinstance(failure, Refused):
        return failure
    error = (decode_object(failure.body) or {}).get("error") if isinstance(failure, Erred) else None
    code = error.get("code", error.get("status")) if isinstance(error, dict) else None
    status = int(code) if isinstance(code, int | str) and str(code).isdecimal() else 0
    return Refused(status, failure.body) if isinstance(failure, Erred) and status else None
