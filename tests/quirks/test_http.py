"""What HTTP carries: framing, addresses, encodings, retries, failures behind the 200."""

import asyncio
import gzip
import json
import subprocess
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from structlog.testing import capture_logs

from tests.builders import CATALOG, body, dumps, events, reply, search, streamed
from tests.conftest import Proxy, start_proxy
from tests.quirks.seen import seen
from tests.upstream import Raw, Scripted

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
MODES = pytest.mark.parametrize("mode", ["on", "off"], ids=["folded", "relayed"])
JSON = "application/json"
SEARCH = reply(search("s1", "weather"))
WORDS = events(*list(streamed(reply("Hello there")))[:3], done=False)
OVERLOADED = {
    "error": {"message": "overloaded", "type": "server_error", "param": None, "code": None}
}
BUSY = Raw(dumps(OVERLOADED), 503, JSON, {"retry-after": "7", "x-should-retry": "true"})
IN_BAND = Raw(WORDS + b"data: " + dumps(OVERLOADED) + b"\n\n")
CUT = Raw(WORDS, cut=True)
SPOKEN = Raw(events(*streamed(reply("Let me see. ", search("s1", "weather")))))


def errors(text: bytes) -> list[Any]:
    """The error frames of a stream."""
    lines = (
        line.removeprefix(b"data: ") for line in text.split(b"\n") if line.startswith(b"data: {")
    )
    return [one["error"] for one in map(json.loads, lines) if one.get("error")]


@FRAMINGS
async def test_Q025_a_hidden_round_that_is_refused_keeps_its_status(stream: bool) -> None:
    async with start_proxy(SEARCH, BUSY) as proxy:
        response = await proxy.post(body(stream=stream))

    assert (response.status_code, response.json()) == (503, OVERLOADED)
    assert response.headers["retry-after"] == "7"
    assert len(proxy.upstream.received) == 2


@pytest.mark.parametrize("second", [IN_BAND, CUT], ids=["error frame", "cut"])
async def test_Q025_a_round_that_fails_behind_its_words_is_one_error_frame(second: Raw) -> None:
    async with start_proxy(SEARCH, second) as proxy:
        response = await proxy.post(body(stream=True))

    told = seen(response)
    assert len(errors(response.content)) == 1
    assert (told.text, told.finishes, told.done) == ("Hello ", [], 0)


@pytest.mark.parametrize("second", [BUSY, Raw(cut=True), Raw(b"")], ids=["503", "reset", "nothing"])
async def test_Q025_a_round_that_fails_behind_words_of_another(second: Raw) -> None:
    """DESIGN: a hidden round is tried once more once the client has its 200."""
    async with start_proxy(SPOKEN, second) as proxy:
        response = await proxy.post(body(stream=True))

    told = seen(response)
    assert len(errors(response.content)) == 1
    assert (told.text, told.finishes, told.done) == ("Let me see. ", [], 0)
    assert len(proxy.upstream.received) == 3


@pytest.mark.parametrize("second", [IN_BAND, CUT, Raw(b"", cut=True)])
async def test_Q025_a_buffered_reply_is_no_success(second: Raw) -> None:
    async with start_proxy(SEARCH, second) as proxy:
        response = await proxy.post(body())

    assert response.status_code == 502
    assert response.json()["error"]["message"]


@MODES
@pytest.mark.parametrize("path", ["/models", "/chat/completions", "/embeddings"])
@pytest.mark.parametrize("asked", ["gzip, deflate", "identity"])
async def test_Q084_what_is_compressed_can_be_read(asked: str, path: str, mode: str) -> None:
    content = dumps(reply("Hi"))
    zipped = Raw(gzip.compress(content), 200, JSON, {"content-encoding": "gzip"})
    async with start_proxy(zipped, mode=mode) as proxy:
        response = await proxy.post(body(), path, **{"accept-encoding": asked})

    assert response.json() == json.loads(content)
    raw = int(response.headers["content-length"])
    encoded = response.headers.get("content-encoding") == "gzip"
    assert raw == (len(zipped.body) if encoded else len(content))


async def test_Q084_curl_reads_it_too() -> None:
    zipped = Raw(gzip.compress(b'{"data": []}'), 200, JSON, {"content-encoding": "gzip"})
    async with start_proxy(zipped) as proxy:
        command = ["curl", "-s", "--compressed", "-m", "10", f"{proxy.url}/models"]
        ran = await asyncio.to_thread(subprocess.run, command, capture_output=True, check=True)

    assert json.loads(ran.stdout) == {"data": []}


async def test_Q084_a_compressed_stream_is_decoded_where_it_is_read() -> None:
    packed = gzip.compress(events(*streamed(reply("Hi"))))
    async with start_proxy(Raw(packed, headers={"content-encoding": "gzip"})) as proxy:
        response = await proxy.post(body(stream=True))

    assert "content-encoding" not in response.headers
    assert seen(response).text == "Hi"


HOP_BY_HOP = {
    "connection": "keep-alive, x-internal",
    "keep-alive": "timeout=5",
    "te": "trailers",
    "trailer": "x-checksum",
    "upgrade": "h2c",
    "expect": "100-continue",
    "proxy-connection": "keep-alive",
    "x-internal": "1",
}


@MODES
@FRAMINGS
@pytest.mark.parametrize("chunked", [True, False])
async def test_Q086_the_upstream_sees_one_framing(chunked: bool, stream: bool, mode: str) -> None:
    content = body(CATALOG, stream=stream)

    async def parts() -> AsyncIterator[bytes]:
        yield content[:100]
        yield content[100:]

    async with start_proxy(reply("Hi"), mode=mode) as proxy:
        sent: Any = parts() if chunked else content
        response = await proxy.client.post(
            f"{proxy.url}/chat/completions", content=sent, headers=HOP_BY_HOP
        )

    (received,) = proxy.upstream.received
    assert response.status_code == 200
    assert received.header("content-length") == [str(len(received.body))]
    assert not received.header("transfer-encoding")
    for name in HOP_BY_HOP.keys() - {"connection"}:
        assert not received.header(name)
    assert (len(received.body) < len(content)) == (mode == "on")


@FRAMINGS
@MODES
@pytest.mark.parametrize("escaped", [True, False])
async def test_Q087_address_and_credentials_cross(escaped: bool, mode: str, stream: bool) -> None:
    """The path below the base is kept: Azure's, with its query."""
    query = "?api-version=2024-10-21&x=a%2Fb&empty=&y" if escaped else "?api-version=2024-10-21"
    keys = {
        "api-key": "k",
        "authorization": "Bearer k2",
        "openai-organization": "org",
        "openai-project": "proj",
        "x-custom": "kept",
        "host": "localhost:8000",
    }
    script = [SEARCH, reply("Hi")] if mode == "on" else [reply("Hi")]
    with capture_logs() as logs:
        async with start_proxy(*script, mode=mode) as proxy:
            path = f"/deployments/d%201/chat/completions{query}"
            await proxy.post(body(stream=stream), path, **keys)

    for received in proxy.upstream.received:
        assert received.target == f"/v1/deployments/d%201/chat/completions{query}"
        assert received.header("host") == [proxy.upstream.url.removeprefix("http://")[:-3]]
        for name in keys.keys() - {"host"}:
            assert received.header(name) == [keys[name]]
    assert len(proxy.upstream.received) == len(script)
    assert not any(word in str(logs) for word in ("Bearer", "k2", "proj"))


@FRAMINGS
@pytest.mark.parametrize("status", [500, 502, 503, 429, 408, 409])
@pytest.mark.parametrize("hidden", [True, False], ids=["hidden round", "first round"])
async def test_Q089_retries_are_the_clients(hidden: bool, status: int, stream: bool) -> None:
    """The SDK tries three times; a hidden round adds itself and no more."""
    turns: list[Scripted] = [SEARCH, Raw(dumps(OVERLOADED), status, JSON)] if hidden else []
    script = turns * 3 if hidden else [Raw(dumps(OVERLOADED), status, JSON)]
    async with start_proxy(*script) as proxy:
        client = openai.AsyncOpenAI(api_key="k", base_url=proxy.url, max_retries=2)
        client._calculate_retry_timeout = lambda *_: 0.0  # type: ignore[method-assign]
        with pytest.raises(openai.APIStatusError) as caught:
            await client.chat.completions.create(**json.loads(body(stream=stream)))
        await client.close()

    assert caught.value.status_code == status
    assert len(proxy.upstream.received) == (6 if hidden else 3)


async def test_Q089_the_upstreams_word_on_retrying_crosses() -> None:
    headers = {"x-should-retry": "false", "retry-after-ms": "12", "retry-after": "1"}
    async with start_proxy(Raw(dumps(OVERLOADED), 500, JSON, headers)) as proxy:
        response = await proxy.post(body())

    assert {name: response.headers[name] for name in headers} == headers


async def upload(proxy: Proxy, path: str, content: Any, form: str) -> Any:
    headers = {"content-type": form, "authorization": "Bearer k"}
    return await proxy.client.post(proxy.url + path, content=content, headers=headers)


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize(
    "path", ["/audio/transcriptions?x=1", "/files", "/images/edits", "/chat/completions/x/cancel"]
)
async def test_Q091_other_routes_cross_as_bytes(path: str, chunked: bool) -> None:
    part = b'--zz\r\ncontent-disposition: form-data; name="file"\r\n\r\n\x00\xff\xfe"tools"'
    content = part * 3_000 + b"\r\n--zz--\r\n"
    answer = bytes(range(256)) * 300

    async def parts() -> AsyncIterator[bytes]:
        for at in range(0, len(content), 7_777):
            yield content[at : at + 7_777]

    form = "multipart/form-data; boundary=zz"
    async with start_proxy(Raw(answer, 200, "audio/mpeg")) as proxy:
        response = await upload(proxy, path, parts() if chunked else content, form)

    (received,) = proxy.upstream.received
    assert (received.method, received.target) == ("POST", f"/v1{path}")
    assert (received.body, received.header("content-type")) == (content, [form])
    assert (response.content, response.headers["content-type"]) == (answer, "audio/mpeg")
