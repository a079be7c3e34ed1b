"""Bytes that arrive together, as one piece.

A transport yields one piece for each chunk of HTTP's chunked coding, however many of them
lie ready. Each would be decoded, sent and flushed by itself: four times the work.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable

_MOST_WAITING = 256 * 1024
"""Bytes that are read ahead of a slow reader."""


async def gathered(parts: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """The same bytes in fewer pieces, none of them later than it would have been."""
    waiting: list[bytes] = []
    arrived, taken = asyncio.Event(), asyncio.Event()

    async def read() -> None:
        size = 0
        async for part in parts:
            size = size + len(part) if waiting else len(part)
            waiting.append(part)
            arrived.set()
            if size > _MOST_WAITING:
                taken.clear()
                await taken.wait()

    reader = asyncio.create_task(read())
    reader.add_done_callback(lambda _: arrived.set())
    try:
        while waiting or not reader.done():
            if not waiting:
                await arrived.wait()
            arrived.clear()
            if waiting:
                data = b"".join(waiting)
                waiting.clear()
                taken.set()
                yield data
        await reader
    finally:
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)
