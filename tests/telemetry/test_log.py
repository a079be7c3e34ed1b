"""C51: the log. One JSON object a line, whatever names and models hold."""

import io
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from app.core.hits import Hit, Ranked
from app.core.search import Searched
from app.core.verdict import Discovery
from app.telemetry import Report, configure_logging
from app.telemetry.log import Log
from app.telemetry.report import model_in
from tests.builders import body, numbered, reply
from tests.conftest import start_proxy
from tests.telemetry.conversations import FOUND_AND_CALLED, ask, ended

HOSTILE = 'x\r\n{"event": "forged"}\x1b[2J\u2028\u202e\x00\ud800"\\'


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What is written to the log, configured as it is when serving."""
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    configure_logging("debug")
    structlog.configure(cache_logger_on_first_use=False)  # or other tests would write here too
    yield stderr
    structlog.reset_defaults()
    logging.captureWarnings(capture=False)
    root.handlers[:] = handlers
    root.setLevel(level)


def lines(written: io.StringIO) -> list[Any]:
    return [json.loads(line) for line in written.getvalue().split("\n") if line]


def test_a_line_is_one_object_whatever_is_in_it(written: io.StringIO) -> None:
    found = Ranked("lexical", [[Hit(HOSTILE, 1.0)]], {"bm25": [[Hit(HOSTILE, 1.0)]]})
    report = Report(
        path=f"/v1/{HOSTILE}",
        model=HOSTILE,
        tenant=HOSTILE,
        captures=True,
        answered=[Searched(HOSTILE, (HOSTILE,), (HOSTILE,), (HOSTILE,), found)],
        discoveries=[Discovery(HOSTILE, "search", {"bm25": 1})],
    )
    Log().tell(report)
    text = written.getvalue()
    assert [line["event"] for line in lines(written)] == [
        "tool_searched",
        "deferred_tool_call",
        "request",
    ]
    assert not any(character in text for character in "\r\x1b\x00")
    assert lines(written)[-1]["model"] == HOSTILE


def test_what_libraries_warn_of_is_a_line_without_what_it_was_filled_in_with(
    written: io.StringIO,
) -> None:
    secret = "s3cret"
    try:
        raise ValueError(secret)
    except ValueError:
        logging.getLogger("some.server").exception("Exception in %s application", secret)
    for _ in range(3):
        logging.getLogger("library").warning("It failed: %s", secret)
    logging.getLogger("library").info("said")
    logging.getLogger("py.warnings").warning(secret)
    assert secret not in written.getvalue()
    first, second, third = lines(written)
    assert (first["event"], first["level"], first["logger"]) == (
        "library",
        "error",
        "some.server",
    )
    assert (first["error"], first["message"]) == ("ValueError", "Exception in %s application")
    assert first["where"].partition(":")[0] == __file__
    assert (second["level"], second["message"]) == ("warning", "It failed: %s")
    assert third["message"] == ""


async def test_the_line_of_a_request_has_every_field() -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    with capture_logs() as logs:
        async with start_proxy(*FOUND_AND_CALLED) as proxy:
            sent = body(text="a question")
            response = await proxy.post(sent, traceparent=f"00-{trace}-00f067aa0ba902b7-01")
            await ended(proxy)
    [advertised] = [entry for entry in logs if entry["event"] == "tools_advertised"]
    assert (advertised["direct"], advertised["deferred"]) == (0, 19)
    assert advertised["schema_bytes"] == len(
        json.dumps(proxy.upstream.requests[0]["tools"], ensure_ascii=False, separators=(",", ":"))
    ) - len("[]")
    said = next(entry for entry in logs if entry["event"] == "request")
    assert (
        said.items()
        >= {
            "request_id": response.headers["x-toolfold-request-id"],
            "trace_id": trace,
            "tenant": "",
            "policy": "",
            "method": "POST",
            "path": "/v1/chat/completions",
            "model": "m",
            "stream": False,
            "bytes_in": len(sent),
            "bytes_out": len(response.content),
            "error": None,
            "unfolded_bytes": 0,
            "ignored_headers": 0,
        }.items()
    )
    assert all(said[name] >= 0 for name in ("ms", "upstream_ms", "overhead_ms"))


async def test_no_tools_are_none_advertised() -> None:
    with capture_logs() as logs:
        async with start_proxy(reply("x")) as proxy:
            await proxy.post(body([]))
            await ask(proxy, tools=numbered(1), n=2)
            await ended(proxy)
    assert [
        entry["schema_bytes"] > 0 for entry in logs if entry["event"] == "tools_advertised"
    ] == [True]


@pytest.mark.parametrize(
    ("raw", "model"),
    [
        (b'{"model": "gpt", "messages": []}', "gpt"),
        (b'{"messages": [], "model" : "a/b:c"}', "a/b:c"),
        (b'{"messages": [{"content": "\\"model\\": \\"x\\""}]}', ""),
        (b'{"tools": [{"model": {"type": "string"}}]}', ""),
        (b'{"model": null}', ""),
        (b'{"model": "a\\u0062"}', ""),
        (b'{"model": "\xff"}', "\ufffd"),
        (b'{"model": "' + b"x" * 1_000, "x" * 197),
        (b'"model"', ""),
        (b"", ""),
    ],
)
def test_the_model_is_read_at_a_glance(raw: bytes, model: str) -> None:
    assert model_in(raw) == model
