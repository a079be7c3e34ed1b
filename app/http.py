"""What every endpoint needs of HTTP: bodies in, replies out, headers that may cross."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

OURS = b"x-toolfold-"
_HOP_BY_HOP = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization"),
        *(b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
        b"alt-svc",
    }
)
"""https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1, and what names another server than us."""
_CREDENTIALS = (b"auth", b"key", b"token", b"cookie", b"secret", b"credential")
"""Parts of the names of headers that say who is calling."""
_NO_CREDENTIALS = frozenset({b"idempotency-key"})
_ACCOUNT = frozenset({b"openai-organization", b"openai-project"})
"""What a key may be used for: with the operator's key not the client's to choose."""
_SET_ANEW = frozenset({b"host", b"content-length", b"expect", b"accept-encoding"})


_ECHOES = frozenset(
    {b"authorization", b"cookie", b"api-key", b"x-api-key", b"x-goog-api-key", b"host"}
)
"""Headers of requests: a reply that has them gives a credential away."""
_ONCE = frozenset({b"content-type", b"content-length", b"server", b"date", b"location"})


class ClientGone(Exception):
    """The client hung up: there is nobody to answer."""


def is_credential(name: bytes) -> bool:
    """Whether a header of this name, in lower case, may say who is calling."""
    return any(part in name for part in _CREDENTIALS) and name not in _NO_CREDENTIALS


def is_protected(name: bytes) -> bool:
    """Whether this header belongs to the request and to no one connection."""
    ours = name.replace(b"_", b"-").startswith(OURS)
    return ours or ((is_credential(name) or name in _SET_ANEW) and name not in _HOP_BY_HOP)


def forwarded(
    headers: Iterable[tuple[bytes, bytes]],
    accept_encoding: bytes | None,
    operators_key: bytes = b"",
) -> Headers:
    """The client's headers as the upstream gets them, with this `Accept-Encoding` or its own,
    and with the operator's key, where there is one, instead of all that says who the client is."""
    headers = list(headers)
    kept = [(n, v) for n, v in _end_to_end(headers) if n not in _SET_ANEW]
    if operators_key:
        kept = [(n, v) for n, v in kept if not (is_credential(n) or n in _ACCOUNT)]
        kept.append((b"authorization", b"Bearer " + operators_key))
    own = [value for name, value in headers if name == b"accept-encoding"]
    accepted = own[0] if accept_encoding is None and own else accept_encoding or b"identity"
    return [*kept, (b"accept-encoding", accepted)]


def returned(headers: Iterable[tuple[bytes, bytes]], *drop: bytes) -> Headers:
    """The upstream's headers as the client gets them, less these, and one of what can only
    be one."""
    headers = list(headers)
    dropped = _ECHOES.union(drop)
    if any(name.lower() == b"transfer-encoding" for name, _ in headers):
        dropped |= {b"content-length"}  # which of the two holds is not for the client to guess
    kept: Headers = []
    for name, value in _end_to_end(headers):
        if name not in dropped:
            kept.append((name, value))
            if name in _ONCE:
                dropped |= {name}
    return kept


def _end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Headers that may cross: not those of one connection, and never ours in any spelling."""
    lower = [(name.lower(), value) for name, value in headers]
    named = {
        token.strip().lower()
        for name, value in lower
        if name == b"connection"
        for token in value.split(b",")
    }
    barred = _HOP_BY_HOP | named
    return [
        (name, value)
        for name, value in lower
        if name not in barred and not name.replace(b"_", b"-").startswith(OURS)
    ]


async def body_parts(receive: Receive) -> AsyncIterator[bytes]:
    """The request's body as it arrives. Raises ClientGone."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        if part := message.get("body", b""):
            yield part
        if not message.get("more_body"):
            return


@asynccontextmanager
async def cancelled_when_gone(
    receive: Receive, after: asyncio.Event | None = None
) -> AsyncIterator[None]:
    """Cancel what happens inside as soon as the client hangs up, and raise ClientGone.
    `after`: the body has been read, so that what is received next is that.

    A server drops in silence what is sent to a client that is gone, so without this an
    upstream would go on generating for nobody.
    """
    task = asyncio.current_task()
    assert task is not None, "runs in a task"
    gone = False

    async def watch() -> None:
        nonlocal gone
        if after is not None:
            await after.wait()
        while (await receive())["type"] != "http.disconnect":
            pass
        gone = True
        task.cancel()

    watcher = asyncio.create_task(watch())
    try:
        yield
    except asyncio.CancelledError:
        if gone and task.uncancel() == 0:
            raise ClientGone from None
        raise
    finally:
        watcher.cancel()


async def start(send: Send, status: int, headers: Headers) -> None:
    """The status line and the headers."""
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def write(send: Send, data: bytes, *, more: bool = True) -> None:
    """A part of the body; the last one where there is no more."""
    await send({"type": "http.response.body", "body": data, "more_body": more})


async def respond(send: Send, status: int, headers: Headers, body: bytes) -> None:
    """A whole reply."""
    await start(send, status, [*headers, (b"content-length", str(len(body)).encode())])
    await write(send, body, more=False)
