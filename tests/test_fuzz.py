"""The fuzz targets, for a moment: `make fuzz` feeds each for ten minutes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.fuzz.__main__ import mutate
from bench.fuzz.targets import SEEDS, TARGETS

ALPHABETS = {
    "sse": b"\r\n: adtx\xef\xbb\xbf",
    "splice": b'{}[]":,\\ atools1.e\xc3\xa9',
    "guard": b"GET http://a/? 1.\n:-_hostcnelgfrm,\x00#@",
    "search": b'{}[]":,\\ querislmt3',
}


@pytest.mark.parametrize("target", TARGETS)
def test_the_seeds_and_what_is_near_them(target: str) -> None:
    for data in SEEDS[target]:
        TARGETS[target](data)
    assert mutate(target, most=3_000, seed=7) == 3_000


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=200)
@given(data=st.data())
def test_any_bytes(target: str, data: st.DataObject) -> None:
    letters = st.sampled_from(list(ALPHABETS[target]))
    drawn = data.draw(st.binary(max_size=300) | st.lists(letters, max_size=300).map(bytes))
    TARGETS[target](drawn)
