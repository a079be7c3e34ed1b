"""What a bound of memory costs: `python -m bench.bounds`, the figures of docs/limits.md.

A cache is weighed with tracemalloc: bytes that it holds for each unit that its setting counts. What
requests in flight take is what a serving process grows by.
"""

import asyncio
import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from typing import Literal

import httpx2

from app.catalogs import MEMORY_PER_BYTE, Catalogs
from app.core.codec import encode
from app.core.policy import Policy
from app.demo.catalog import catalog
from app.rankers.endpoint import Endpoint
from app.rankers.vectors import Vectors, key_of
from app.stores.memory import MemoryStore
from app.telemetry import Report
from app.telemetry.metrics import Metrics
from app.telemetry.recent import Recent
from app.tokens import load_counter
from app.upstream import Timeouts, Upstream
from bench.ops.rig import MEGABYTE, open_stream, serving
from bench.telemetry import real_report
from tests.builders import dumps, request
from tests.endpoints import as_json
from tests.upstream import Raw, Received, upstream

_LABELS = 40
_TURNS = 5_000
_RECORD = b"x" * 600
_VECTORS, _NUMBERS = 640, 384
_HELD = 24
_SMALL = 400
_ENDLESS = 10**12
_PATIENCE = 60.0


def main() -> None:
    """Print a line for each bound."""
    asyncio.run(_main())


async def _main() -> None:
    report = await real_report()
    raw = encode(catalog(300))
    size = len(raw)
    compiled, searched = await _catalog(raw)
    _say("catalog_cache_mb", compiled / size, "a byte of `tools`, before any search")
    _say("", searched / size, f"the same, searched much; counted as {MEMORY_PER_BYTE}")
    kept = await _turns() / _TURNS
    _say("store_mb", kept - len(_RECORD), "a remembered turn, beside its record")
    _say("ranker_cache_mb", await _vectors() / _VECTORS, f"a vector of {_NUMBERS} numbers")
    _say("metrics_tenants", _labels(report, "tenant") / _LABELS, "a tenant")
    _say("metrics_models", _labels(report, "model") / _LABELS, "a model")
    _say("max_inflight", await _in_flight(0, _SMALL), "a small request in flight")
    _say("inflight_mb", await _in_flight(MEGABYTE, _HELD) / MEGABYTE, "a byte of a body")


def _say(setting: str, size: float, unit: str) -> None:
    print(f"{setting.upper():17}{size:10,.1f} bytes for {unit}")


@contextmanager
def _weighed() -> Iterator[Callable[[], int]]:
    """Bytes that are held more than at the beginning, when asked."""
    gc.collect()
    tracemalloc.start()

    def weigh() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    try:
        yield weigh
    finally:
        tracemalloc.stop()


async def _catalog(raw: bytes) -> tuple[int, int]:
    await Catalogs(load_counter(), _ENDLESS).shape(raw, Policy())  # its words are kept for all
    catalogs = Catalogs(load_counter(), _ENDLESS)
    with _weighed() as weigh:
        shape = await catalogs.shape(raw, Policy())
        compiled = weigh()
        for tool in catalog(300):
            shape.catalog.index.rank(tool["function"]["description"][:200])
        return compiled, weigh()


async def _turns() -> int:
    store = MemoryStore(_ENDLESS, _TURNS, 3_600)
    with _weighed() as weigh:
        for number in range(_TURNS):
            await store.save(f"{number:064x}", _RECORD + b"%d" % number)
        return weigh()


async def _vectors() -> int:
    def embed(received: Received) -> Raw:
        numbers = [[float(at)] * _NUMBERS for at, _ in enumerate(received.json["input"], 1)]
        data = [{"index": at, "embedding": vector} for at, vector in enumerate(numbers)]
        return as_json({"data": data})

    async with upstream(embed) as behind:
        transport = httpx2.AsyncHTTPTransport()
        endpoint = Endpoint(Upstream(behind.url, transport, Timeouts()), b"/embeddings", "")
        vectors = Vectors(endpoint, "m", _ENDLESS)
        await vectors.load({b"once": "made once"})
        with _weighed() as weigh:
            texts = [f"tool {number}" for number in range(_VECTORS)]
            await vectors.load({key_of(text): text for text in texts})
            del texts
            behind.received.clear()
            size = weigh()
        await vectors.aclose()
    return size


def _labels(report: Report, which: Literal["tenant", "model"]) -> int:
    """What new series take: all that a real request adds to."""
    names = [f"name{number}" for number in range(_LABELS)]
    most = {"most_tenants": _LABELS + 1, "most_models": _LABELS + 1}
    metrics = Metrics(["once", *names], **most, provider="openai")
    page = Recent(["once", *names], most_tenants=_LABELS + 1)
    for sink in (metrics, page):
        sink.tell(_named(report, which, "once"))
    with _weighed() as weigh:
        for name in names:
            for sink in (metrics, page):
                sink.tell(_named(report, which, name))
        return weigh()


def _named(report: Report, which: Literal["tenant", "model"], name: str) -> Report:
    return replace(report, tenant=name) if which == "tenant" else replace(report, model=name)


async def _in_flight(size: int, held: int) -> float:
    """Bytes for each of so many requests that wait for the upstream, with a text of this size."""
    gate = asyncio.Event()
    sent = dumps(request() | {"messages": [{"role": "user", "content": "x" * size}]})
    async with serving(Raw(b"{}", 200, before_head=gate)) as replica, AsyncExitStack() as stack:

        async def hold(more: int) -> int:
            for _ in range(more):
                await stack.enter_async_context(open_stream(replica, sent))
            async with asyncio.timeout(_PATIENCE):
                while len(replica.upstream.received) < more:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            replica.upstream.received.clear()
            return replica.resident()

        before = await hold(1)
        return (await hold(held) - before) / held


if __name__ == "__main__":
    main()
