"""What is fed with bytes, and what must hold whatever they are. Each raises AssertionError, or
anything else that is not among the errors that it documents."""

import json
from collections.abc import Callable
from typing import Any

from app.core.body import Body, Malformed
from app.core.calls import Call
from app.core.errors import Broken
from app.core.search import read_search
from app.guard import MOST_HEADERS, complaint, path_of
from app.sse import Decoder

Target = Callable[[bytes], None]
_LARGEST = 4_096


def sse(data: bytes) -> None:
    """A stream says the same events however it is cut, and loses nothing but blank lines."""
    cut, stream = int.from_bytes(data[:2], "big"), data[2:]
    whole = _told([stream])
    at = cut % (len(stream) + 1)
    assert _told([stream[:at], stream[at:]]) == whole
    assert _told([stream[i : i + 1] for i in range(len(stream))]) == whole
    if whole is not None:
        assert whole[1] == _inked(stream.removeprefix(b"\xef\xbb\xbf"))


def _told(parts: list[bytes]) -> tuple[list[bytes], bytes] | None:
    """The data of the events, and all their bytes but the ends of lines: CR at the end of a
    piece ends its event, and an LF that comes then is the next one's."""
    decoder = Decoder(_LARGEST)
    try:
        events = [event for part in parts for event in decoder.feed(part)] + decoder.flush()
    except Broken:
        return None
    said = b"".join(event.raw for event in events)
    return [event.data for event in events if event.data is not None], _inked(said)


def _inked(stream: bytes) -> bytes:
    return stream.translate(None, b"\r\n")


def splice(data: bytes) -> None:
    """A body that is understood is what a plain reader understands; a member that is set is
    the only one that changes; nothing set, nothing changed."""
    try:
        body = Body(data)
    except Malformed:
        return
    value = json.loads(data)
    assert isinstance(value, dict)
    assert body.names() == set(value)
    assert body.splice({}) == data
    for name in (*value, "tools"):
        spliced = Body(body.splice({name: b"[1]"}))
        assert spliced.get(name) == b"[1]"
        assert all(spliced.get(other) == body.get(other) for other in value if other != name)
        assert name not in Body(body.without(name))
    text = body.get("tools")
    if text is not None:
        known = Body(data, "tools", [text])
        assert {name: known.get(name) for name in value} == {n: body.get(n) for n in value}
        assert known.splice({}) == data


def guard(data: bytes) -> None:
    """Any head is judged; what passes has one framing, one sound host and a target of ours."""
    head, *lines = data.split(b"\n")
    method, target, version = (*head.split(b" "), b"", b"", b"")[:3]
    pairs = [line.partition(b":") for line in lines]
    headers = [(name.lower(), value.strip()) for name, _, value in pairs]
    text = version.decode("latin-1")
    if complaint(method.decode("latin-1"), target, text, headers) is not None:
        return
    names = [name for name, _ in headers]
    hosts = [value for name, value in headers if name == b"host"]
    assert len(headers) <= MOST_HEADERS
    assert not {b"content-length", b"transfer-encoding"} <= {*names}
    assert not any(set(host) & set(b"/#@? \t") for host in hosts)
    assert target.startswith((b"/", b"*?")) or path_of(target).startswith(b"/")
    assert not any(byte < 32 and byte != 9 for _, value in headers for byte in value)


def search(data: bytes) -> None:
    """Arguments of a search never raise; queries are few, short and not empty."""
    call = Call(id="s", name="tool_search")
    fragment: dict[str, Any] = {"function": {"arguments": data.decode("utf-8", "replace")}}
    call.add(fragment)
    found = read_search(call)
    assert len(found.queries) <= 16
    assert all(query and len(query) <= 1_000 for query in found.queries)


TARGETS: dict[str, Target] = {"sse": sse, "splice": splice, "guard": guard, "search": search}
SEEDS: dict[str, list[bytes]] = {
    "sse": [b"\x00\x05data: {}\n\ndata: a\rdata: b\r\n\r\n: c\n\nid: 1\ndata\n\n"],
    "splice": [b'{"model":"m","tools":[{"a":1.10}],"x":"\\u00e9\\ud83d","y":1e400}'],
    "guard": [b"GET http://a/v1/x?y 1.1\nHost: a\nConnection: close, x-y\nExpect: 100-continue"],
    "search": [b'{"queries":["a","select:b,c"],"limit":"3"}', b'"[\\"a\\"]"', b'{"query":{"a":1'],
}
