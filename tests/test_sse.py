import pytest

from app.core.errors import Broken
from app.sse import Decoder, encode

STREAMS = {
    "LF": (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
    "CRLF": (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
    "CR": (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
    "mixed": (b"data: a\r\n\r\ndata: b\n\r\ndata: c\r\rdata: d\n\n", [b"a", b"b", b"c", b"d"]),
    "LF then CR": (b"data: a\n\rdata: b\n\n", [b"a", b"b"]),
    "no space": (b"data:a\n\n", [b"a"]),
    "two spaces": (b"data:  a\n\n", [b" a"]),
    "several lines": (b"data: a\ndata: b\n\n", [b"a\nb"]),
    "other fields": (b"event: x\nid: 1\nretry: 5\ndata: a\n\n", [b"a"]),
    "a comment": (b": ping\n\ndata: a\n\n", [None, b"a"]),
    "a comment inside": (b"data: a\n: ping\n\n", [b"a"]),
    "line separators are data": (
        "data: a\u2028b\u0085c\x0bd\x0ce\n\n".encode(),
        ["a\u2028b\u0085c\x0bd\x0ce".encode()],
    ),
    "a byte-order mark": (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
    "one byte-order mark only": (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [b"a", None]),
    "unfinished": (b"data: a\n\ndata: b\n", [b"a"]),
    "no data": (b"event: x\n\ndata: a\n\n", [None, b"a"]),
    "a field that only begins like data": (b"database: x\n\n", [None]),
}


@pytest.mark.parametrize(("stream", "events"), STREAMS.values(), ids=STREAMS)
def test_events_are_found_however_the_stream_is_cut(stream: bytes, events: list[bytes]) -> None:
    for cut in range(len(stream) + 1):
        decoder = Decoder()
        found = decoder.feed(stream[:cut]) + decoder.feed(stream[cut:])
        assert [event.data for event in found if event.raw.strip()] == events, cut
    decoder = Decoder()
    bytewise = [event for at in range(len(stream)) for event in decoder.feed(stream[at : at + 1])]
    assert [event.data for event in bytewise if event.raw.strip()] == events


@pytest.mark.parametrize(("stream", "events"), STREAMS.values(), ids=STREAMS)
def test_events_keep_their_bytes(stream: bytes, events: list[bytes]) -> None:
    decoder = Decoder()
    found = [event for at in range(len(stream)) for event in decoder.feed(stream[at : at + 1])]
    assert (
        b"".join(event.raw for event in found)
        == stream.removeprefix(b"\xef\xbb\xbf")[: sum(len(event.raw) for event in found)]
    )


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_an_event_is_there_as_soon_as_its_blank_line_is(end: bytes) -> None:
    [event] = Decoder().feed(b"data: a" + end)
    assert event.data == b"a"


def test_the_last_event_may_lack_its_blank_line() -> None:
    decoder = Decoder()
    decoder.feed(b"data: a\n\ndata: [DONE]\n")
    assert [event.data for event in decoder.flush()] == [b"[DONE]"]
    assert decoder.flush() == []


def test_an_event_has_a_largest_size() -> None:
    decoder = Decoder(largest=100)
    decoder.feed(b"data: " + b"a" * 90)
    with pytest.raises(Broken):
        decoder.feed(b"a" * 90)


def test_an_encoded_event_decodes() -> None:
    assert [e.data for e in Decoder().feed(encode(b'{"a":1}'))] == [b'{"a":1}']
