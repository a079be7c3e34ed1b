"""Replies unpacked in small pieces: 200 KB of gzip can say 200 MB."""

import zlib
from collections.abc import AsyncGenerator, AsyncIterable

from app.core.errors import Broken

_PIECE = 65_536
_EITHER = zlib.MAX_WBITS | 32
"""gzip's or zlib's header, whichever is there."""


async def unpacked(parts: AsyncIterable[bytes], coding: str) -> AsyncGenerator[bytes, None]:
    """The bytes that these parts say in a `Content-Encoding`. Raises Broken."""
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise Broken("The upstream's reply has an encoding that was not asked for.")
    inflater = zlib.decompressobj(_EITHER)
    try:
        async for part in parts:
            waiting = part
            while waiting and not inflater.eof:
                yield inflater.decompress(waiting, _PIECE)
                waiting = inflater.unconsumed_tail
    except zlib.error:
        raise Broken("The upstream's reply cannot be unpacked.") from None
    if not inflater.eof:
        raise Broken("The upstream's reply breaks off.")
