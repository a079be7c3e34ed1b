"""An ASGI app on a loopback port, for as long as a `with` block lasts."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import uvicorn
from starlette.types import ASGIApp

HOST = "127.0.0.1"


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """Serve an app in a thread and yield its address, such as `http://127.0.0.1:40312`."""
    # The socket listens before the server runs: early clients queue, so nobody has to wait for it.
    listener = socket.create_server((HOST, 0))
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_level="error"))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago, for a server that binds its own."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.create_server((HOST, 0))) for _ in range(count)]
        return [probe.getsockname()[1] for probe in probes]
