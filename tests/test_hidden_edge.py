"""Hidden is hidden at the edge too: in every mode, at every endpoint, whatever is sent."""

import gzip

import pytest

from tests.builders import CATALOG, body, call, dumps, reply
from tests.conftest import start_proxy
from tests.core.test_fold import named
from tests.test_hidden import SECRET, TOOLS
from tests.upstream import Raw

LEGACY = [entry["function"] for entry in TOOLS]
CLOSED: dict[str, tuple[bytes, int]] = {
    "several choices": (body(TOOLS, n=2), 400),
    "a named choice": (body(TOOLS, tool_choice=named(SECRET)), 400),
    "legacy functions": (dumps({"messages": [], "functions": LEGACY}), 400),
    "legacy functions beside tools": (body(CATALOG, functions=LEGACY), 400),
    "no JSON": (body(TOOLS)[:-1], 400),
    "NaN": (body(TOOLS)[:-1] + b',"x":NaN}', 400),
    "a list": (b"[" + body(TOOLS) + b"]", 400),
    "UTF-16": (body(TOOLS).decode().encode("utf-16"), 400),
    "a byte order mark": (b"\xef\xbb\xbf" + body(TOOLS), 400),
    "tools twice": (body([])[:-1] + b',"tools":' + dumps(TOOLS) + b"}", 400),
    "tools in an object": (dumps({"messages": [], "tools": {"a": TOOLS}}), 400),
    "a tool twice": (body([*TOOLS, TOOLS[-1]]), 400),
    "a tool that is none": (body([*TOOLS, 7]), 400),  # type: ignore[list-item]
    "no messages": (dumps({"tools": TOOLS}), 400),
    "messages that are none": (dumps({"tools": TOOLS, "messages": 7}), 400),
}


@pytest.mark.parametrize("mode", ["auto", "on", "off", "observe"])
@pytest.mark.parametrize(("raw", "status"), CLOSED.values(), ids=CLOSED)
async def test_what_would_be_relayed_is_refused(raw: bytes, status: int, mode: str) -> None:
    async with start_proxy(reply("ok"), mode=mode, hidden="vault__*") as proxy:
        response = await proxy.post(raw)

    assert response.status_code == status
    assert SECRET not in response.text
    assert proxy.upstream.received == []


@pytest.mark.parametrize("mode", ["auto", "on", "off", "observe"])
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
async def test_it_is_hidden_in_every_mode(mode: str, stream: bool) -> None:
    async with start_proxy(
        reply(call("c1", SECRET, {"door": "1"})), reply("Done."), mode=mode, hidden="vault__*"
    ) as proxy:
        response = await proxy.post(body(TOOLS, stream=stream))

    assert response.headers["x-toolfold-decision"] == "folded"
    assert SECRET not in response.text
    assert SECRET.encode() not in proxy.upstream.received[0].body


SHOWING = [("Mode", "off"), ("Mode", "observe"), ("Direct", "*"), ("Deferred", "vault__*")]


@pytest.mark.parametrize(("name", "value"), SHOWING)
async def test_no_header_shows_it(name: str, value: str) -> None:
    async with start_proxy(reply("ok"), hidden="vault__*") as proxy:
        response = await proxy.post(body(TOOLS), **{f"X-Toolfold-{name}": value})

    assert response.status_code == 200
    assert SECRET.encode() not in proxy.upstream.received[0].body


async def test_a_compressed_body_is_refused() -> None:
    async with start_proxy(reply("ok"), hidden="vault__*") as proxy:
        response = await proxy.post(gzip.compress(body(TOOLS)), **{"content-encoding": "gzip"})

    assert response.status_code == 400
    assert proxy.upstream.received == []


WAYS_ROUND = ["/responses", "/messages", "/chat/completions/", "//responses", "/batches"]
WAYS_ROUND += ["/chat/completions%2F", "/CHAT/COMPLETIONS", "/assistants", "/threads/t/runs"]
WAYS_ROUND += ["/embeddings%2F", "/responses?x=/embeddings"]


@pytest.mark.parametrize("path", WAYS_ROUND)
@pytest.mark.parametrize("method", ["POST", "PUT", "QUERY"])
async def test_there_is_no_way_round(path: str, method: str) -> None:
    async with start_proxy(reply("ok"), hidden="vault__*") as proxy:
        response = await proxy.client.request(method, proxy.url + path, content=body(TOOLS))

    assert response.status_code == 403
    assert SECRET not in response.text
    assert proxy.upstream.received == []


@pytest.mark.parametrize("path", ["/embeddings", "/files", "/audio/speech", "/models"])
async def test_endpoints_without_tools_go_on(path: str) -> None:
    async with start_proxy(Raw(b"{}", 200, "application/json"), hidden="vault__*") as proxy:
        assert (await proxy.client.post(proxy.url + path, content=b"x")).status_code == 200


async def test_metrics_and_logs_do_not_name_it(capsys: pytest.CaptureFixture[str]) -> None:
    async with start_proxy(
        reply(call("c1", SECRET, {})), reply("Done."), hidden="vault__*"
    ) as proxy:
        response = await proxy.post(body(TOOLS))

    assert SECRET not in repr(response.headers)
    captured = capsys.readouterr()
    assert SECRET not in captured.out + captured.err
