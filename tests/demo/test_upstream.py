"""The embedded upstream over a real socket, driven by the real SDK in both framings."""

import json
from collections.abc import Callable, Iterator

import httpx2
import openai
import pytest

from app.demo.catalog import catalog
from app.demo.client import connect, solve
from app.demo.desk import Desk
from app.demo.loopback import serving
from app.demo.tasks import TASKS, Task
from app.demo.upstream import Record, Upstream

from .builders import Json, request, tool, user

FRAMINGS = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
LEDGER = tool("ledger_get_balance", "account")


@pytest.fixture
def upstream() -> Upstream:
    return Upstream(len)


@pytest.fixture
def url(upstream: Upstream) -> Iterator[str]:
    with serving(upstream) as address:
        yield f"{address}/v1"


@pytest.fixture
def api(url: str) -> Iterator[openai.OpenAI]:
    with connect(url) as connected:
        yield connected


@pytest.fixture
def post(url: str) -> Iterator[Callable[[bytes], httpx2.Response]]:
    with httpx2.Client(trust_env=False) as http:
        yield lambda body: http.post(f"{url}/chat/completions", content=body)


def events(reply: httpx2.Response) -> list[Json]:
    lines = reply.text.split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]


@FRAMINGS
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.title)
def test_the_sdk_solves_every_task(api: openai.OpenAI, task: Task, stream: bool) -> None:
    desk = Desk(7)
    answer = solve(api, task.ask, tools=catalog(12), run=desk.run, stream=stream)
    assert all(output in answer for output in task.truth(desk.run))


@FRAMINGS
def test_an_answer_without_the_tool_is_wrong(api: openai.OpenAI, stream: bool) -> None:
    desk = Desk(7)
    answer = solve(api, TASKS[0].ask, tools=[tool()], run=desk.run, stream=stream)
    assert not any(output in answer for output in TASKS[0].truth(desk.run))


def test_both_framings_say_the_same(post: Callable[[bytes], httpx2.Response]) -> None:
    asked = request(user(TASKS[0].ask), tools=[LEDGER])
    message = post(json.dumps(asked).encode()).json()["choices"][0]
    chunks = events(post(json.dumps(asked | {"stream": True}).encode()))
    pieces = [
        call for chunk in chunks for call in chunk["choices"][0]["delta"].get("tool_calls", ())
    ]
    [call] = message["message"]["tool_calls"]
    assert pieces[0]["function"]["name"] == call["function"]["name"]
    spoken = "".join(piece["function"]["arguments"] for piece in pieces)
    assert spoken == call["function"]["arguments"]
    assert len(pieces) > 2, "arguments arrive in pieces"
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert chunks[-1]["choices"][0]["finish_reason"] == message["finish_reason"] == "tool_calls"


def test_usage_comes_in_a_last_chunk_when_it_was_asked_for(
    post: Callable[[bytes], httpx2.Response],
) -> None:
    asked = request(stream=True, stream_options={"include_usage": True})
    *chunks, last = events(post(json.dumps(asked).encode()))
    assert all(chunk["usage"] is None for chunk in chunks)
    assert last["choices"] == []
    assert last["usage"]["prompt_tokens"] > 0
    assert all(
        "usage" not in chunk for chunk in events(post(json.dumps(request(stream=True)).encode()))
    )


def test_prompt_tokens_are_those_of_tools_and_messages(
    post: Callable[[bytes], httpx2.Response],
) -> None:
    asked = request(tools=[LEDGER], temperature=1)
    weighed = [json.dumps(asked[key], separators=(",", ":")) for key in ("tools", "messages")]
    usage = post(json.dumps(asked).encode()).json()["usage"]
    assert usage["prompt_tokens"] == sum(map(len, weighed))
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


def test_what_an_earlier_request_began_with_counts_as_cached(
    post: Callable[[bytes], httpx2.Response], upstream: Upstream
) -> None:
    first = request(user("Hello"), tools=[LEDGER])
    longer = request(user("Hello"), {"role": "assistant", "content": "Hi"}, tools=[LEDGER])
    changed = longer | {"tools": [LEDGER, tool()]}
    usages = [
        post(json.dumps(asked).encode()).json()["usage"]
        for asked in (first, longer, longer | {"temperature": 1}, changed)
    ]
    cached = [usage["prompt_tokens_details"]["cached_tokens"] for usage in usages]
    assert cached == [
        0,
        usages[0]["prompt_tokens"] - len("]"),
        usages[1]["prompt_tokens"],
        len(json.dumps([LEDGER], separators=(",", ":"))) - len("]"),
    ]
    assert [record.cached_tokens for record in upstream.records] == cached


def test_every_request_is_recorded(
    post: Callable[[bytes], httpx2.Response], upstream: Upstream
) -> None:
    served = json.dumps(request(tools=[LEDGER])).encode()
    refused = json.dumps(request(tools=[LEDGER] * 129)).encode()
    tokens = post(served).json()["usage"]["prompt_tokens"]
    post(refused)
    post(b"{")
    assert upstream.records == [
        Record(200, len(served), 1, tokens),
        Record(400, len(refused), 129, 0),
        Record(400, 1, 0, 0),
    ]


@FRAMINGS
def test_a_refusal_reaches_the_app_as_openais_would(api: openai.OpenAI, stream: bool) -> None:
    with pytest.raises(openai.BadRequestError, match="maximum length 128") as refused:
        solve(api, TASKS[0].ask, tools=catalog(300), run=Desk(7).run, stream=stream)
    assert (refused.value.code, refused.value.param) == ("array_above_max_length", "tools")


def test_the_limit_of_tools_can_be_lifted() -> None:
    lifted, desk = Upstream(len, max_tools=None), Desk(7)
    with serving(lifted) as address, connect(f"{address}/v1") as api:
        answer = solve(api, TASKS[0].ask, tools=catalog(300), run=desk.run, stream=False)
    assert TASKS[0].truth(desk.run)[0] in answer
    assert [record.tools for record in lifted.records] == [300, 300]


def test_a_body_that_is_no_json_object_is_refused(post: Callable[[bytes], httpx2.Response]) -> None:
    for body in (b"", b"[]", b"{", b"\xff"):
        reply = post(body)
        assert reply.status_code == 400
        assert reply.json()["error"]["type"] == "invalid_request_error"
