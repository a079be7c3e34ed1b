"""From the first accept to the last byte: two ports, told to stop by signals.

A load balancer notices late that a replica is leaving. So on SIGTERM `/readyz` says 503 at
once, requests are still taken for `drain_delay` with `Connection: close` on their replies, and
only then are the ports closed and the running requests waited for.
"""

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress

import structlog
import uvicorn

_FLUSH_SECONDS = 3.0
"""What is still to be said of the requests may take no longer: a collector can be mute."""
_BACKLOG = 2048
_CLOSE = (b"connection", b"close")

Flush = Callable[[], Awaitable[None]]


def listener(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises OSError that says where."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, *_, address = found[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        raise OSError(f"{host}:{port}: {error.strerror or error}") from error


class Server(uvicorn.Server):
    """A server that leaves the signals to us, since there are two of them in the process, and
    that says where it listens once it does."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            bound = [one.getsockname()[:2] for server in self.servers for one in server.sockets]
            structlog.get_logger().info("listening", addresses=[f"{h}:{p}" for h, p in bound])

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    def close_behind_replies(self) -> None:
        """Ask clients to come back on another connection."""
        self.config.encoded_headers.append(_CLOSE)  # put into the defaults every second
        self.server_state.default_headers = [*self.server_state.default_headers, _CLOSE]


class Lifecycle:
    """Whether requests should be sent to us, and when both ports close."""

    def __init__(self, drain_delay: float) -> None:
        self._drain_delay = drain_delay
        self.is_draining = False
        """Told to leave."""
        self._data: Server | None = None

    def is_ready(self) -> bool:
        """Configured, listening and not about to leave. The store and the upstream are not
        asked: another replica would have the same ones."""
        return self._data is not None and self._data.started and not self.is_draining

    async def run(
        self,
        data: Server,
        admin: Server,
        listeners: tuple[socket.socket, socket.socket],
        *flushes: Flush,
    ) -> None:
        """Serve until SIGTERM or SIGINT. The admin port answers until the data port is done."""
        self._data = data
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._leave, self._drain_delay)
        loop.add_signal_handler(signal.SIGINT, self._leave, 0)  # nobody balances a terminal

        async def serve_data() -> None:
            await data.serve([listeners[0]])
            admin.should_exit = True

        await asyncio.gather(serve_data(), admin.serve([listeners[1]]))
        with suppress(TimeoutError):
            async with asyncio.timeout(_FLUSH_SECONDS):
                await asyncio.gather(*(flush() for flush in flushes), return_exceptions=True)

    def _leave(self, delay: float) -> None:
        """Leave after so many seconds; at once where it is said a second time."""
        assert self._data is not None, "serving"
        if self.is_draining:
            self._data.force_exit = self._data.should_exit
            delay = 0
        self.is_draining = True
        structlog.get_logger().info("draining", seconds=delay)
        self._data.close_behind_replies()
        asyncio.get_running_loop().call_later(delay, self._stop)

    def _stop(self) -> None:
        assert self._data is not None, "serving"
        self._data.should_exit = True
