"""The dialect `json_tag`: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`."""

import re

from app.core.codec import decode, decode_object, encode
from app.core.dialect.said import (
    INPUT,
    Known,
    Said,
    call_of,
    invoked,
    one_object,
    read_object,
    values,
)
from app.core.dialect.tags import quoted_json

_FENCED = re.compile(r"\s*```\w*\s*\n(.*?)\s*(?:```\s*)?\Z", re.DOTALL)
_CALLED = re.compile(r"\s*call:\s*")
_NAMED = re.compile(r"([\w./:-]{1,128})\s*(?:\((.*)\)|({.*}))\s*\Z", re.DOTALL)


def written(said: Said) -> str:
    """A call as the model is to write it: the body of a tag."""
    if said.kind == "custom":
        arguments = encode({INPUT: said.arguments}).decode()
    elif not said.arguments.strip():
        arguments = "{}"
    elif decode_object(said.arguments.encode("utf-8", "surrogatepass")) is None:
        arguments = encode(said.arguments).decode()
    else:
        arguments = said.arguments.strip()
    name = encode(said.name).decode()
    return quoted_json(f'{{"name": {name}, "arguments": {arguments}}}')


def read(body: str, known: Known) -> list[Said] | None:
    """The calls of a tag's body, None where it cannot be read as known tools' calls alone."""
    try:
        return _read(body, known)
    except (ValueError, RecursionError, ArithmeticError):
        return None


def is_to_the_letter(body: str) -> bool:
    """Whether JSON is calls as they should be written, and nothing else: each a name and an
    object of arguments. An answer in JSON is not taken for a call."""
    try:
        read = [decode(text) for text in values(body)]
    except (ValueError, RecursionError, ArithmeticError):
        return False
    return all(
        one.keys() == {"name", "arguments"} and isinstance(one["arguments"], dict) for one in read
    )


def _read(body: str, known: Known) -> list[Said] | None:
    if fenced := _FENCED.match(body):
        body = fenced[1]
    body = _CALLED.sub("", body, count=1) if _CALLED.match(body) else body
    body = body.strip()
    if body.startswith("<"):
        return invoked(body, known)
    if named := _NAMED.match(body):
        said = call_of(named[1], one_object(named[2] or named[3] or ""), known)
        return [said] if said else None
    try:
        texts = values(body)
    except ValueError:
        if not (body.startswith("{{") and body.endswith("}}")):  # templates show such examples
            raise
        texts = values(body[1:-1])
    calls = [said for text in texts if (said := read_object(text, known))]
    return calls if calls and len(calls) == len(texts) else None
