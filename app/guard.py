"""Requests that no well-behaved client sends, refused before anything reads them.

What h11 does not see and a parser on either side may read differently, or that would have us
drop what somebody in front of us has set: https://www.rfc-editor.org/rfc/rfc9112 and rfc9110.
"""

import re
from typing import NamedTuple
from urllib.parse import unquote

from app.core.codec import encode
from app.http import App, Headers, Receive, Scope, Send, is_protected, respond

MOST_HEADERS = 100
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_HOST = re.compile(rb"(?:[A-Za-z0-9._~!$&'()*+,;=%-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")
_FRAMING = frozenset({b"content-length", b"transfer-encoding", b"host", b"connection"})
_PROTECTED = frozenset(
    {
        *(b"content-length", b"content-type", b"content-encoding", b"host", b"expect"),
        *(b"authorization", b"cookie", b"api-key", b"x-api-key", b"x-goog-api-key"),
        *(b"accept", b"accept-encoding", b"idempotency-key", b"traceparent", b"tracestate"),
        *(
            b"forwarded",
            b"x-forwarded-for",
            b"x-forwarded-host",
            b"x-forwarded-proto",
            b"x-real-ip",
        ),
    }
)
"""Headers that `Connection` may not name: a hop that obeys would take them away."""


class Fault(NamedTuple):
    """Why a request is refused."""

    status: int
    param: str | None
    """The header that is at fault."""
    message: str


class Guard:
    """Answers what is refused and closes the connection; all else is the app's."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        target: bytes = scope["raw_path"]
        fault = complaint(
            scope["method"],
            target + b"?" + scope["query_string"],
            scope["http_version"],
            scope["headers"],
        )
        if fault is not None:
            await _refuse(send, fault)
            return
        if not target.startswith(b"/"):
            path = path_of(target)
            scope = {**scope, "raw_path": path, "path": unquote(path.decode())}
        await self._app(scope, receive, send)


def complaint(method: str, target: bytes, version: str, headers: Headers) -> Fault | None:
    """What is wrong with a request's head, whose header names are in lower case, if anything."""
    if version not in ("1.0", "1.1"):
        return Fault(505, None, "Only HTTP/1.0 and HTTP/1.1 are spoken.")
    if method in ("CONNECT", "TRACE"):
        return Fault(405, None, f"The method {method} is not served.")
    if len(headers) > MOST_HEADERS:
        return Fault(431, None, f"There are more than {MOST_HEADERS} headers.")
    if b"#" in target:
        return Fault(400, None, "The request's target holds a fragment.")
    if _CONTROL.search(b"\t".join([value for _, value in headers])):
        return Fault(400, None, "A header's value holds a control character.")
    named: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _FRAMING or name == b"expect":
            named[name] = named[name] + b"," + value if name in named else value
        elif b"_" in name and name.replace(b"_", b"-") in _PROTECTED | _FRAMING:
            return Fault(400, name.decode(), "Write this header's name with `-`.")
    return _framing(version, named) or _hosts(target, named.get(b"host")) or _hop(named)


def _framing(version: str, named: dict[bytes, bytes]) -> Fault | None:
    if b"transfer-encoding" not in named:
        return None
    if b"content-length" in named:
        return Fault(400, "transfer-encoding", "Send a length or `chunked`, not both.")
    if version == "1.0":
        return Fault(400, "transfer-encoding", "HTTP/1.0 has no transfer codings.")
    return None


def _hosts(target: bytes, host: bytes | None) -> Fault | None:
    if host is not None and not _HOST.fullmatch(host):
        return Fault(400, "host", "This is not the name of a host.")
    if not target.startswith((b"/", b"*?")):
        absolute = _absolute(target)
        if absolute is None or host is None or absolute[0].lower() != host.lower():
            return Fault(400, "host", "The request's target is not of the host that it names.")
    return None


def _hop(named: dict[bytes, bytes]) -> Fault | None:
    for token in named.get(b"connection", b"").lower().split(b","):
        name = token.strip()
        if name in _PROTECTED or is_protected(name):  # who it is: CVE-2025-48865
            said = f"`Connection` must not name `{name.decode('latin-1')}`: leave it out."
            return Fault(400, "connection", said)
    if named.get(b"expect", b"100-continue").lower() != b"100-continue":
        return Fault(417, "expect", "Only `100-continue` can be expected.")
    return None


def path_of(target: bytes) -> bytes:
    """The path of a target in absolute form; another target as it is."""
    absolute = _absolute(target)
    return target if absolute is None else absolute[1]


def _absolute(target: bytes) -> tuple[bytes, bytes] | None:
    """Authority and path of `http://host/path`."""
    scheme, mark, rest = target.partition(b"://")
    if not mark or scheme.lower() not in (b"http", b"https"):
        return None
    authority, slash, path = rest.partition(b"?")[0].partition(b"/")
    return authority, slash + path or b"/"


async def _refuse(send: Send, fault: Fault) -> None:
    error = {"type": "invalid_request_error", "param": fault.param, "code": "bad_http"}
    body = encode({"error": {"message": fault.message, **error}})
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await respond(send, fault.status, headers, body)
