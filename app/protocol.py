"""HTTP/1.1 on the wire, strictly: what uvicorn and h11 leave open.

uvicorn waits for ever for the rest of a request and for a client that does not read. h11 takes
lines that end in LF alone and headers that go on in the next line; another parser on the way
may read those differently (https://www.rfc-editor.org/rfc/rfc9112#section-11.2).
"""

import asyncio
from dataclasses import dataclass
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from app.core.codec import encode

LARGEST_HEAD = 32_768
"""Bytes of a request's head."""
_END_OF_HEAD = b"\r\n\r\n"
_LEAST_RATE = 65_536
"""Bytes that buy a body one more second: a large upload is not an attack."""
_MESSAGES = {
    400: "This is not valid HTTP/1.1.",
    408: "The request did not arrive in time.",
    431: f"The headers are too large: {LARGEST_HEAD:,} bytes are taken.",
    501: "The transfer coding is not known: send `chunked` or a length.",
}


@dataclass(frozen=True)
class Deadlines:
    """How long a client may take, in seconds."""

    head: float = 10
    """From the connect, or the first byte behind a reply, to the end of the headers."""
    body: float = 60
    """From there to the end of the body, and one more for each 64 KiB that have come."""
    send: float = 60
    """For which it may take nothing of what lies ready for it."""


class _Connection(h11.Connection):
    """Refuses the heads that h11 lets pass."""

    status = 400
    """Of the answer to what was refused."""

    def next_event(self) -> Any:
        if self.their_state is h11.IDLE:
            self._check_head(self.trailing_data[0])
        try:
            return super().next_event()
        except h11.RemoteProtocolError as error:
            self.status = error.error_status_hint
            raise

    def _check_head(self, waiting: bytes) -> None:
        end = waiting.find(_END_OF_HEAD)
        head = waiting if end < 0 else waiting[:end]
        if head.count(b"\n") != head.count(b"\r\n") or b"\n " in head or b"\n\t" in head:
            raise h11.RemoteProtocolError("loose line")
        if end > LARGEST_HEAD:  # h11 measures only what is incomplete
            self.status = 431
            raise h11.RemoteProtocolError("large head")


class _Protocol(H11Protocol):
    """uvicorn's, with deadlines. A timer runs only while there is something to wait for."""

    deadlines: ClassVar[Deadlines]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn: _Connection = _Connection(h11.SERVER, LARGEST_HEAD)
        self._watched: tuple[Any, Any] = (None, None)
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._began = 0.0
        self._received = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing() and self.transport.get_write_buffer_size():
            self.pause_writing()  # closed once it is sent, which is for the client to allow
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for timer in (self._reading, self._writing):
            if timer is not None:
                timer.cancel()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._writing is None:
            self._writing = self.loop.call_later(self.deadlines.send, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    def send_400_response(self, msg: str) -> None:
        self._refuse(self.conn.status)

    def _watch(self) -> None:
        """Have a timer for the part of a request that is under way, if there is one."""
        part: Any = self.conn.their_state
        if part not in (h11.IDLE, h11.SEND_BODY) or self.timeout_keep_alive_task is not None:
            part = None
        if self._watched == (part, self.cycle):
            return
        self._watched = (part, self.cycle)
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        if part is not None and not self.transport.is_closing():
            self._began, self._received = self.loop.time(), 0
            self._wait(self._allowed)

    def _wait(self, seconds: float) -> None:
        self._reading = self.loop.call_later(seconds, self._expire)

    @property
    def _allowed(self) -> float:
        if self._watched[0] is h11.IDLE:
            return self.deadlines.head
        return self.deadlines.body + self._received / _LEAST_RATE

    def _expire(self) -> None:
        left = self._began + self._allowed - self.loop.time()
        if left > 0:
            self._wait(left)
        elif self.flow.read_paused:  # it is not the client that is slow
            self._wait(self.deadlines.body)
        elif self._watched[0] is h11.IDLE and not self.conn.trailing_data[0]:
            self.transport.close()
        else:
            self._refuse(408)

    def _refuse(self, status: int) -> None:
        """Say why, where no reply has begun, and close."""
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            error = {"type": "invalid_request_error", "param": None, "code": "bad_http"}
            body = encode({"error": {"message": _MESSAGES.get(status, _MESSAGES[400]), **error}})
            headers = [
                *(("content-type", "application/json"), ("connection", "close")),
                ("content-length", str(len(body))),
            ]
            reply = h11.Response(
                status_code=status, headers=headers, reason=STATUS_PHRASES.get(status, b"")
            )
            self.transport.write(self.conn.send(reply) or b"")
            if self.cycle is None or self.cycle.scope["method"] != "HEAD":
                self.transport.write(self.conn.send(h11.Data(data=body)) or b"")
        self.transport.close()


def strict(deadlines: Deadlines) -> type[asyncio.Protocol]:
    """The protocol that holds these deadlines, for uvicorn's `http`."""
    return type("Protocol", (_Protocol,), {"deadlines": deadlines})
