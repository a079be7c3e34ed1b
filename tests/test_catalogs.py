import asyncio
import gc
from collections.abc import Callable

import pytest

from app.catalogs import MEMORY_PER_BYTE, Catalogs
from app.core.body import Malformed
from app.core.policy import Policy
from tests.builders import CATALOG, dumps, numbered

RAW = dumps(CATALOG)
LARGE = dumps(numbered(300, 100))


class Counter:
    """Counts characters, and how often a whole tool was counted."""

    def __init__(self) -> None:
        self.tools = 0

    def __call__(self, text: str) -> int:
        self.tools += text.startswith('{"type"')
        return len(text)


@pytest.fixture
def counter() -> Counter:
    return Counter()


@pytest.mark.parametrize("raw", [RAW, LARGE], ids=["at once", "in a thread"])
async def test_a_catalog_is_compiled_once_however_many_ask(counter: Counter, raw: bytes) -> None:
    catalogs = Catalogs(counter, 10**9)
    shapes = await asyncio.gather(
        *(catalogs.shape(bytes(bytearray(raw)), Policy()) for _ in range(9))
    )
    again = await catalogs.shape(raw, Policy())
    assert all(shape is again for shape in shapes)
    bridge = 1
    assert counter.tools == len(again.catalog.tools) + bridge


async def test_policies_share_a_catalog(counter: Counter) -> None:
    catalogs = Catalogs(counter, 10**9)
    one = await catalogs.shape(RAW, Policy())
    other = await catalogs.shape(RAW, Policy(hidden=("crm__*",)))
    assert one is not other
    assert one.catalog is other.catalog


async def test_the_cache_is_bounded_in_bytes(counter: Counter) -> None:
    catalogs = Catalogs(counter, MEMORY_PER_BYTE * (2 * len(RAW) + 100))
    first = await catalogs.shape(RAW, Policy())
    for at in range(3):
        await catalogs.shape(RAW.replace(b"Current", b"Current%d" % at), Policy())
    assert await catalogs.shape(RAW, Policy()) is not first


async def test_a_catalog_that_is_too_large_is_served_and_forgotten(counter: Counter) -> None:
    catalogs = Catalogs(counter, 10)
    first = await catalogs.shape(RAW, Policy())
    assert first.catalog.count == len(CATALOG)
    del first
    gc.collect()
    before = counter.tools
    await catalogs.shape(RAW, Policy())
    assert counter.tools > before


async def test_a_malformed_catalog_is_malformed_every_time(counter: Counter) -> None:
    catalogs = Catalogs(counter, 10**9)
    for _ in range(2):
        with pytest.raises(Malformed):
            await catalogs.shape(b"{}", Policy())


async def test_one_client_that_leaves_does_not_stop_the_others(counter: Counter) -> None:
    catalogs = Catalogs(counter, 10**9)
    leaving = asyncio.create_task(catalogs.shape(LARGE, Policy()))
    staying = asyncio.create_task(catalogs.shape(LARGE, Policy()))
    await asyncio.sleep(0)
    leaving.cancel()
    assert (await staying).catalog.count == 300


async def test_a_request_of_known_tools_counts_no_tokens(count: Callable[[str], int]) -> None:
    calls = 0

    def counted(text: str) -> int:
        nonlocal calls
        calls += 1
        return count(text)

    catalogs = Catalogs(counted, 10**9)
    policy = Policy(schema_budget=100)
    shape = await catalogs.shape(RAW, policy)
    assert shape.is_budgeted
    before = calls
    assert await catalogs.shape(bytes(bytearray(RAW)), policy) is shape
    assert calls == before
