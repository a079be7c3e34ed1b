"""Conversations through a running Toolfold, and what was told of them."""

import asyncio
from collections.abc import Iterator
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from tests.builders import body, call, reply, search
from tests.conftest import Proxy

QUESTION = "weather in a city"
FOUND_AND_CALLED = [
    reply(search("s1", QUESTION, "quantum"), n=1),
    reply(call("c1", "get_weather", {"city": "Oslo"}), n=3),
]
"""A search that finds one of two things, and the call of what it found."""


def samples(text: bytes) -> Iterator[tuple[str, dict[str, str], float]]:
    """Every sample of a metrics page."""
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            yield sample.name, sample.labels, sample.value


async def ended(proxy: Proxy) -> None:
    """The requests have been told of. A client has its reply a little earlier."""
    while proxy.telemetry.in_flight:  # noqa: ASYNC110 (over in the next rounds of the loop)
        await asyncio.sleep(0)


async def value(proxy: Proxy, name: str, **labels: str) -> float:
    """The sum of the samples of this name with these labels."""
    await ended(proxy)
    return sum(
        number
        for found, said, number in samples(proxy.telemetry.metrics.text())
        if found == name and said.items() >= labels.items()
    )


async def stats(proxy: Proxy) -> Any:
    """What the page would show."""
    await ended(proxy)
    return proxy.telemetry.stats()


async def ask(proxy: Proxy, stream: bool = False, **members: Any) -> Any:
    """One request, with usage also where it streams."""
    beside: dict[str, Any] = (
        {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    )
    return await proxy.post(body(**beside, **members))
