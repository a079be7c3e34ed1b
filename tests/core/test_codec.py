import pytest

from app.core.codec import decode, encode, is_deeper, repeats

LOSSLESS = {
    "decimal": b'{"a":1.10}',
    "beyond 64 bits": b'{"a":1180591620717411303424}',
    "negative zero": b'{"a":-0.0}',
    "key order": b'{"zebra":1,"apple":2}',
    "line separator": '{"a":"\u2028"}'.encode(),
    "emoji": '{"a":"😀"}'.encode(),
}


@pytest.mark.parametrize("text", LOSSLESS.values(), ids=LOSSLESS)
def test_a_round_trip_keeps_every_character(text: bytes) -> None:
    assert encode(decode(text)) == text


def test_a_number_beyond_a_double_keeps_its_value() -> None:
    assert encode(decode(b"1e400")) == b"1E+400"


def test_half_of_an_emoji_goes_in_and_out() -> None:
    assert encode(decode(rb'{"a":"\ud83d"}')) == rb'{"a":"\ud83d"}'


@pytest.mark.parametrize("text", [b"", b"{", b"NaN", b"-Infinity", b"\xff", b"[" * 100_000])
def test_what_is_not_json_is_a_value_error(text: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (its subclasses vary, callers catch the base)
        decode(text)


DEPTHS = {"1": 0, '"[["': 0, "[]": 1, "{}": 1, "[[],[1]]": 2, '{"a":{"b":[]}}': 3}


@pytest.mark.parametrize(("text", "depth"), DEPTHS.items(), ids=DEPTHS)
def test_the_depth_of_a_value(text: str, depth: int) -> None:
    assert not is_deeper(decode(text), depth)
    assert depth == 0 or is_deeper(decode(text), depth - 1)


@pytest.mark.parametrize(
    ("text", "twice"),
    [
        (b'{"a":{"b":1},"c":[{"b":2}]}', False),
        (b'{"a":1,"a":1}', True),
        (b'[{"c":{"a":1,"\\u0061":2}}]', True),
        (b"[" + b"9" * 5_000 + b"]", False),
    ],
    ids=["apart", "twice", "escaped, inside", "a long number"],
)
def test_a_member_that_is_named_twice(text: bytes, twice: bool) -> None:
    assert repeats(text) is twice
