"""W3C trace context: what is read, and what the upstream gets."""

import pytest

from app.trace import Headers, Trace

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GIVEN = f"00-{TRACE}-{PARENT}-01"


def headers(*parents: str, state: str = "") -> Headers:
    found = [(b"traceparent", parent.encode()) for parent in parents]
    return [(b"accept", b"*/*"), *found, *([(b"tracestate", state.encode())] if state else [])]


@pytest.mark.parametrize(
    "invalid",
    [
        "",
        "00-" + "0" * 32 + f"-{PARENT}-01",
        f"00-{TRACE}-" + "0" * 16 + "-01",
        f"00-{TRACE.upper()}-{PARENT}-01",
        f"ff-{TRACE}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-01-more",
        f"00-{TRACE}-{PARENT}",
        f"00-{TRACE}-{PARENT}-0\r\nx: y",
        "00-" + "é" * 32 + f"-{PARENT}-01",
    ],
)
def test_an_invalid_parent_is_none(invalid: str) -> None:
    trace = Trace(headers(invalid, state="a=1"), spans=True)
    assert (trace.parent, trace.state, trace.sampled) == ("", "", True)
    assert len(trace.trace_id) == 32
    call = trace.call()
    assert trace.headers(headers(invalid, state="a=1"), call) == [
        (b"accept", b"*/*"),
        (b"traceparent", f"00-{trace.trace_id}-{call.span_id}-01".encode()),
    ]


def test_two_parents_are_none() -> None:
    assert Trace(headers(GIVEN, GIVEN)).trace_id == ""


@pytest.mark.parametrize(
    ("given", "sampled"),
    [(GIVEN, True), (f"00-{TRACE}-{PARENT}-00", False), (f"cc-{TRACE}-{PARENT}-03-new", True)],
    ids=["sampled", "not-sampled", "a-later-version"],
)
def test_a_parent_is_continued_with_our_span(given: str, sampled: bool) -> None:
    trace = Trace(headers(given, state="a=1"), spans=True)
    assert (trace.trace_id, trace.parent, trace.state) == (TRACE, PARENT, "a=1")
    first, second = trace.call(), trace.call()
    assert len({trace.span_id, first.span_id, second.span_id, PARENT}) == 4
    assert trace.headers(headers(given, state="a=1"), second) == [
        (b"accept", b"*/*"),
        (b"tracestate", b"a=1"),
        (b"traceparent", f"00-{TRACE}-{second.span_id}-{int(sampled):02}".encode()),
    ]


def test_without_spans_the_headers_are_the_clients() -> None:
    given = headers(GIVEN, "odd", state="a=1")
    trace = Trace(given)
    assert trace.headers(given, trace.call()) is given
    assert Trace(headers(GIVEN)).trace_id == TRACE
    assert Trace().trace_id == ""
