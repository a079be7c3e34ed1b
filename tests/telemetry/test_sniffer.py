"""Large `tools` arrays in bodies that are only passed on."""

import pytest

from app.telemetry.sniffer import Sniffer
from tests.builders import dumps, numbered

MANY, FEW = numbered(100, 200), numbered(3)
CASES = {
    "many": (dumps({"model": "m", "tools": MANY}), True),
    "behind a long text": (dumps({"input": "x" * 100_000, "tools": MANY}), True),
    "few": (dumps({"input": "x" * 100_000, "tools": FEW}), False),
    "none": (dumps({"input": "x" * 100_000}), False),
    "in a text": (dumps({"input": '"tools" ' + "x" * 100_000}), False),
    "in a text, then for real": (dumps({"input": '"tools"', "tools": MANY}), True),
    "not JSON": (b"\x00" * 20_000, False),
    "nothing": (b"", False),
}


@pytest.mark.parametrize("size", [10**9, 65_536, 7, 3])
@pytest.mark.parametrize(("body", "large"), CASES.values(), ids=CASES)
def test_they_are_seen_however_the_body_is_cut(body: bytes, large: bool, size: int) -> None:
    sniffer = Sniffer()
    for at in range(0, len(body), size):
        sniffer.feed(body[at : at + size])
    assert bool(sniffer.tools) is large
    assert sniffer.size == len(body)


def test_behind_the_first_megabyte_nothing_is_looked_for() -> None:
    sniffer = Sniffer()
    for _ in range(17):
        sniffer.feed(b"x" * 65_536)
    sniffer.feed(dumps({"tools": MANY}))
    assert sniffer.tools == 0


def test_a_large_array_is_measured_from_its_name() -> None:
    sniffer = Sniffer()
    sniffer.feed(b'{"input": "hi", "tools": ' + b" " * 10_000)
    assert sniffer.tools == len(b'"tools": ') + 10_000
