"""Bytes to a server and all that comes back, until it closes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

PATIENCE = 10.0


def address(url: str) -> tuple[str, int]:
    """Host and port of a URL."""
    host, _, port = url.removeprefix("http://").partition("/")[0].rpartition(":")
    return host, int(port)


@asynccontextmanager
async def connected(
    url: str,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection, closed at the end of the block."""
    reader, writer = await asyncio.open_connection(*address(url))
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def exchange(url: str, sent: bytes, *, patience: float = PATIENCE) -> bytes:
    """What is answered to these bytes before the server closes. Raises TimeoutError."""
    async with connected(url) as (reader, writer):
        writer.write(sent)
        said = bytearray()
        async with asyncio.timeout(patience):
            with suppress(ConnectionError):
                while part := await reader.read(65_536):
                    said += part
        return bytes(said)


def statuses(said: bytes) -> list[int]:
    """The status of each reply in what was said."""
    return [
        int(line[9:12])
        for line in said.replace(b"}HTTP/1.1 ", b"}\r\nHTTP/1.1 ").split(b"\r\n")
        if line.startswith(b"HTTP/1.1 ")
    ]
