"""When the upstream fails. Before the 200 its own answer is passed on; after it exactly one
error event ends the stream, and no `[DONE]`. A hidden round that breaks off is tried once more."""

import asyncio
import json
import socket
from typing import Any

import httpx2
import pytest

from app.core.codec import Json
from app.settings import Settings
from tests.builders import body, call, dumps, events, reply, search, streamed
from tests.conftest import running, start_proxy
from tests.quirks.seen import datas, seen
from tests.upstream import Raw, Scripted

JSON = "application/json"
FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
STATUSES = pytest.mark.parametrize("status", [400, 401, 404, 409, 422, 429, 500, 503, 529])
ERROR = {"error": {"message": "overloaded", "type": "server_error", "param": None, "code": "x"}}
EVENT = events(ERROR, done=False)
SEARCH = reply(search("s1", "weather"))
WORDS = events(*list(streamed(reply("Hello there")))[:3], done=False)
"""The beginning of a stream: a role and some words, no finish reason."""
SPOKEN = events(*streamed(reply("Let me see.", search("s1", "weather"))))
"""A hidden round that begins with words for the client."""


def error_event(response: httpx2.Response) -> Json:
    """The error that ends a stream: the last event, the only one, and no `[DONE]`."""
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    said = datas(response.content)
    errors = [json.loads(one) for one in said if '"error"' in one]
    assert len(errors) == 1
    assert json.loads(said[-1]) == errors[0]
    error: Json = errors[0]["error"]
    assert error["message"]
    return error


def shaped(response: httpx2.Response) -> Json:
    """An error object of ours."""
    error: Json = response.json()["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert response.headers["content-type"] == JSON
    return error


@FRAMINGS
@STATUSES
@pytest.mark.parametrize("rounds", [1, 2], ids=["first", "hidden"])
async def test_a_refusal_before_the_200_keeps_status_body_and_headers(
    rounds: int, status: int, stream: bool
) -> None:
    script: list[Scripted] = [SEARCH, status] if rounds == 2 else [status]
    async with start_proxy(*script) as proxy:
        response = await proxy.post(body(stream=stream))

    assert response.status_code == status
    assert response.json()["error"]["message"] == f"status {status}"
    assert response.headers["retry-after"] == "9"
    assert response.headers["x-request-id"] == "req-1"
    assert response.headers["x-should-retry"] == "false"
    assert len(proxy.upstream.received) == rounds


@FRAMINGS
async def test_a_refusal_that_is_no_json_crosses_too(stream: bool) -> None:
    async with start_proxy(Raw(b"<h1>Bad gateway</h1>", 502, "text/html")) as proxy:
        response = await proxy.post(body(stream=stream))

    assert (response.status_code, response.content) == (502, b"<h1>Bad gateway</h1>")
    assert response.headers["content-type"] == "text/html"


@STATUSES
async def test_a_refusal_behind_words_is_tried_once_more_then_told(status: int) -> None:
    async with start_proxy(Raw(SPOKEN), status) as proxy:
        response = await proxy.post(body(stream=True))

    assert error_event(response)["message"] == f"status {status}"
    assert seen(response).text == "Let me see."
    assert len(proxy.upstream.received) == 3
    assert proxy.upstream.received[1].body == proxy.upstream.received[2].body


BREAKS: dict[str, Raw] = {
    "cut in a role": Raw(events(next(streamed(SEARCH)), done=False), cut=True),
    "cut in a search": Raw(events(*list(streamed(SEARCH))[:4], done=False), cut=True),
    "cut in an event": Raw(SPOKEN[:300].split(b'"content"')[0], cut=True),
    "nothing": Raw(b""),
    "nothing, cut": Raw(b"", cut=True),
    "ended without finish": Raw(events(*list(streamed(SEARCH))[:4], done=False)),
    "error event": Raw(EVENT),
    "error event behind a role": Raw(events(next(streamed(SEARCH)), done=False) + EVENT),
    "error in a search": Raw(events(*list(streamed(SEARCH))[:4], done=False) + EVENT),
    "error in JSON": Raw(dumps(ERROR), 200, JSON),
    "HTML": Raw(b"<h1>hello</h1>", 200, "text/html"),
    "garbage": Raw(b"\x00\xff{", 200, JSON),
    "a JSON list": Raw(b"[]", 200, JSON),
    "no JSON at all": Raw(b"", 200, JSON),
    "cut in JSON": Raw(dumps(reply("x"))[:-9], 200, JSON, cut=True),
}


SAYS_NOTHING = {"only [DONE]": Raw(b"data: [DONE]\n\n")}
HIDDEN = pytest.mark.parametrize(
    "broken", [*BREAKS.values(), *SAYS_NOTHING.values()], ids=[*BREAKS, *SAYS_NOTHING]
)


@HIDDEN
async def test_a_hidden_round_that_breaks_behind_words_is_tried_once_more(broken: Raw) -> None:
    async with start_proxy(Raw(SPOKEN), broken, reply("Done.")) as proxy:
        response = await proxy.post(body(stream=True))

    told = seen(response)
    assert (told.text, told.errors, told.done) == ("Let me see.Done.", [], 1)
    assert len(proxy.upstream.received) == 3


@HIDDEN
async def test_one_that_breaks_twice_ends_the_stream(broken: Raw) -> None:
    async with start_proxy(Raw(SPOKEN), broken) as proxy:
        response = await proxy.post(body(stream=True))

    error_event(response)
    told = seen(response)
    assert (told.text, told.finishes, told.done) == ("Let me see.", [], 0)
    assert len(proxy.upstream.received) == 3


ERRORS = [name for name in BREAKS if name.startswith("error")]  # the upstream's word: passed on


@FRAMINGS
@pytest.mark.parametrize("name", [name for name in BREAKS if name not in ERRORS])
async def test_a_hidden_round_that_breaks_before_the_200_is_tried_once_more(
    name: str, stream: bool
) -> None:
    async with start_proxy(SEARCH, BREAKS[name], reply("Done.")) as proxy:
        response = await proxy.post(body(stream=stream))

    assert (response.status_code, seen(response).text) == (200, "Done.")
    assert len(proxy.upstream.received) == 3


@FRAMINGS
@pytest.mark.parametrize("name", BREAKS)
@pytest.mark.parametrize("rounds", [1, 2], ids=["first", "hidden"])
async def test_a_round_that_breaks_before_the_200_is_no_success(
    rounds: int, name: str, stream: bool
) -> None:
    script: list[Scripted] = [SEARCH, BREAKS[name]] if rounds == 2 else [BREAKS[name]]
    async with start_proxy(*script) as proxy:
        response = await proxy.post(body(stream=stream))

    assert len(proxy.upstream.received) == rounds + (rounds == 2 and name not in ERRORS)
    if response.status_code == 200 and stream:
        error_event(response)
    elif response.status_code == 200:
        assert response.json() == ERROR  # the upstream's word, as without us
    else:
        assert response.status_code == 502
        assert response.json()["error"]["message"]


CUTS: dict[str, Raw] = {
    "cut": Raw(WORDS, cut=True),
    "cut in an event": Raw(WORDS + b'data: {"id": "chat', cut=True),
    "ended": Raw(WORDS),
    "error event": Raw(WORDS + EVENT),
    "error event, then [DONE]": Raw(WORDS + EVENT + b"data: [DONE]\n\n"),
    "two error events": Raw(WORDS + EVENT + EVENT),
    "error event with CRLF": Raw(WORDS + EVENT.replace(b"\n", b"\r\n")),
    "error named as an event": Raw(WORDS + b"event: error\n" + EVENT),
    "error beside choices": Raw(WORDS + events({**ERROR, "choices": []}, done=False)),
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
async def test_words_that_break_off_end_in_one_error_event(cut: Raw) -> None:
    async with start_proxy(cut) as proxy:
        response = await proxy.post(body(stream=True))

    error_event(response)
    told = seen(response)
    assert told.text
    assert (told.finishes, told.done) == ([], 0)
    assert len(proxy.upstream.received) == 1


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
async def test_a_buffered_reply_that_breaks_off_is_a_bad_gateway_or_the_error(cut: Raw) -> None:
    async with start_proxy(cut) as proxy:
        response = await proxy.post(body())

    assert "error" in response.json()
    assert response.status_code == 502 or response.json()["error"] == ERROR["error"]


async def test_a_call_that_breaks_off_ends_in_one_error_event() -> None:
    said = list(streamed(reply("Hm. ", call("c1", "get_weather", {"city": "Oslo"}))))[:6]
    async with start_proxy(Raw(events(*said, done=False), cut=True), direct=["*"]) as proxy:
        response = await proxy.post(body(stream=True))

    assert response.headers["x-toolfold-decision"] == "relayed"
    assert len([one for one in datas(response.content) if '"error"' in one]) == 1


async def test_the_error_event_is_the_upstreams_own() -> None:
    async with start_proxy(Raw(WORDS + EVENT)) as proxy:
        response = await proxy.post(body(stream=True))

    assert error_event(response) == ERROR["error"]


@FRAMINGS
@pytest.mark.parametrize("path", ["/chat/completions", "/models"])
async def test_an_upstream_that_cannot_be_reached_is_a_bad_gateway(path: str, stream: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    settings = Settings(upstream_base_url=f"http://127.0.0.1:{port}/v1", mode="on")
    async with running(settings) as url, httpx2.AsyncClient() as client:
        response = await client.post(url + path, content=body(stream=stream))

    assert response.status_code == 502
    assert shaped(response)["code"] == "upstream_unreachable"


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.close()


async def talk_nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
    writer.close()


@FRAMINGS
@pytest.mark.parametrize("path", ["/chat/completions", "/models"])
@pytest.mark.parametrize("serve", [hang_up, talk_nonsense])
async def test_an_upstream_that_does_not_answer_in_http_is_a_bad_gateway(
    serve: Any, path: str, stream: bool
) -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    settings = Settings(upstream_base_url=base, mode="on")
    async with server, running(settings) as url, httpx2.AsyncClient() as client:
        response = await client.post(url + path, content=body(stream=stream))

    assert response.status_code == 502
    assert shaped(response)["code"] == "upstream_error"


@FRAMINGS
@pytest.mark.parametrize("path", ["/chat/completions", "/models"])
async def test_silence_before_the_head_is_a_gateway_timeout(path: str, stream: bool) -> None:
    async with start_proxy(Raw(before_head=asyncio.Event()), first_byte_timeout=0.1) as proxy:
        response = await proxy.post(body(stream=stream), path)

    assert response.status_code == 504
    assert shaped(response)["code"] == "upstream_timeout"


async def test_silence_behind_words_ends_in_an_error_event() -> None:
    async with start_proxy(Raw(WORDS, stall=True), read_timeout=0.1) as proxy:
        response = await proxy.post(body(stream=True))

    assert error_event(response)["code"] == "upstream_timeout"


async def test_silence_in_a_hidden_round_is_tried_once_more() -> None:
    async with start_proxy(Raw(SPOKEN), Raw(stall=True), reply("Done."), read_timeout=0.1) as proxy:
        response = await proxy.post(body(stream=True))

    assert seen(response).text == "Let me see.Done."


async def test_a_head_that_was_sent_early_ends_in_an_error_event() -> None:
    async with start_proxy(SEARCH, Raw(stall=True), read_timeout=0.2, head_after=0) as proxy:
        response = await proxy.post(body(stream=True))

    assert error_event(response)["code"] == "upstream_timeout"


@pytest.mark.parametrize("cut", [Raw(WORDS, cut=True), Raw(WORDS[:-9], cut=True)], ids=["", "in"])
async def test_a_relayed_stream_that_breaks_off_is_no_success(cut: Raw) -> None:
    async with start_proxy(cut, mode="off") as proxy:
        try:
            response = await proxy.post(body(stream=True))
        except httpx2.RemoteProtocolError:
            assert not cut.body.endswith(b"\n\n"), "an event could have said it"
        else:
            error_event(response)
