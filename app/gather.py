"""Bytes that arrive together, as one piece.

A transport yields one piece for each chunk of HTTP's chunked coding, however many of them
lie ready. Each would be decoded, sent and flushed by itself: four times the work.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable

from app.core.errors import Broken

_MOST_WAITING = 256 * 1024
"""Bytes that are read ahead of a slow reader."""


async def gathered(parts: AsyncIterable[bytes], until: float) -> AsyncGenerator[bytes, None]:
    """The same bytes in fewer pieces, none of them later than it would have been. Raises
    Broken when the loop's clock reaches `until`."""
    waiting: list[bytes] = []
    arrived, taken = asyncio.Event(), asyncio.Event()
    late = False

    async def read() -> None:
        size = 0
        async for part in parts:
            size = size + len(part) if waiting else len(part)
            waiting.append(part)
            arrived.set()
            if size > _MOST_WAITING:
                taken.clear()
                await taken.wait()

    def expire() -> None:
        nonlocal late
        late = True
        reader.cancel()

    reader = asyncio.create_task(read())
    reader.add_done_callback(lambda _: arrived.set())
    timer = asyncio.get_running_loop().call_at(until, expire)
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
        if late:
            raise Broken("The upstream took too long.", "upstream_timeout", 504)
        await reader
    finally:
        timer.cancel()
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)
