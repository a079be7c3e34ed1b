"""What a turn cost, and what of it the upstream's prompt cache saves."""

import json
from itertools import pairwise
from time import process_time
from typing import Any

import httpx2
import pytest

from app.core.codec import Json
from tests.builders import (
    body,
    call,
    dumps,
    events,
    numbered,
    reply,
    request,
    search,
    streamed,
    tool,
)
from tests.conftest import start_proxy
from tests.player import Played, play
from tests.quirks.test_state import ENDS, OSLO, TOOLS, App, calling, is_valid
from tests.test_conversation import continues
from tests.upstream import Raw

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
STRATEGIES = pytest.mark.parametrize("strategy", ["promote", "wrap"])
PLACES = pytest.mark.parametrize("place", ["auto", "system"])
ONE = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
TWO = {"prompt_tokens": 1400, "completion_tokens": 50, "total_tokens": 1450}
BOTH = {"prompt_tokens": 2400, "completion_tokens": 70, "total_tokens": 2470}
ASKED: Json = {"stream_options": {"include_usage": True}}


def asking(stream: bool) -> Json:
    """A buffered reply says its usage unasked."""
    return ASKED if stream else {}


def costing(said: Json, usage: Json | None) -> Json:
    """A reply that says what it cost."""
    return {**said, "usage": usage} if usage else {k: v for k, v in said.items() if k != "usage"}


def usages(response: httpx2.Response) -> list[Json]:
    """Every usage that the client gets."""
    assert response.status_code == 200
    if "event-stream" not in response.headers["content-type"]:
        return [response.json()["usage"]]
    lines = [line for line in response.text.split("\n") if line.startswith("data: {")]
    chunks = [json.loads(line[6:]) for line in lines]
    return [chunk["usage"] for chunk in chunks if chunk.get("usage")]


@FRAMINGS
@STRATEGIES
@PLACES
async def test_Q081_the_manifest_is_the_same_bytes_for_ever(
    stream: bool, strategy: str, place: str
) -> None:
    """A promoted tool stays listed."""
    script = [
        reply(search("s1", "weather")),
        reply(search("s2", "refund"), call("c1", "get_weather", {"city": "Oslo"})),
        reply("Done."),
    ]
    asked: Json = request(stream=stream)
    asked["messages"].insert(0, {"role": "system", "content": "Be brief."})
    async with start_proxy(*script, strategy=strategy, manifest_place=place) as proxy:
        await proxy.post(dumps(asked))
        history = [
            {"role": "assistant", "content": None, "tool_calls": [call("c1", "get_weather")]},
            {"role": "tool", "tool_call_id": "c1", "content": "rain"},
        ]
        await proxy.post(dumps({**asked, "messages": [*asked["messages"], *history]}))

    requests = proxy.upstream.requests
    bridges = [
        [json.dumps(tool) for tool in sent["tools"] if tool["function"]["name"] == "tool_search"]
        for sent in requests
    ]
    assert len(requests) == 3
    assert len({bridge for (bridge,) in bridges}) == 1
    assert len({json.dumps(sent["messages"][0]) for sent in requests}) == 1
    listed = requests[2]["messages"][0]["content"] if place == "system" else bridges[2][0]
    assert "get_weather(" in listed


@FRAMINGS
@STRATEGIES
async def test_Q082_usage_is_that_of_all_rounds(stream: bool, strategy: str) -> None:
    script = [costing(reply(search("s1", "weather")), ONE), costing(reply("Done."), TWO)]
    async with start_proxy(*script, strategy=strategy) as proxy:
        response = await proxy.post(body(stream=stream, **asking(stream)))

    assert usages(response) == [BOTH]


@FRAMINGS
async def test_Q082_details_are_added_too(stream: bool) -> None:
    details: list[Json] = [
        {"prompt_tokens_details": {"cached_tokens": 7, "audio_tokens": None}},
        {"prompt_tokens_details": {"cached_tokens": 900}, "completion_tokens_details": None},
        {"completion_tokens_details": {"reasoning_tokens": 5}, "cost": 0.25},
    ]
    rounds = [reply(search("s1", "weather")), reply(search("s2", "refund")), reply("Done.")]
    script = [costing(said, {**ONE, **more}) for said, more in zip(rounds, details, strict=True)]
    async with start_proxy(*script) as proxy:
        response = await proxy.post(body(stream=stream, **asking(stream)))

    [usage] = usages(response)
    assert usage["prompt_tokens"] == 3000
    assert usage["prompt_tokens_details"]["cached_tokens"] == 907
    assert usage["completion_tokens_details"] == {"reasoning_tokens": 5}
    assert usage["cost"] == 0.25


@FRAMINGS
@pytest.mark.parametrize("lacking", [0, 1], ids=["the first", "the last"])
async def test_Q082_a_round_without_usage_costs_what_the_others_say(
    stream: bool, lacking: int
) -> None:
    script = [costing(reply(search("s1", "weather")), ONE), costing(reply("Done."), TWO)]
    script[lacking] = costing(script[lacking], None)
    sent = body(stream=stream, **asking(stream))
    scripted = [Raw(events(*with_usage(one))) for one in script] if stream else script
    async with start_proxy(*scripted) as proxy:
        response = await proxy.post(sent)

    if lacking == 0:
        assert usages(response) == [TWO]
    elif stream:
        assert usages(response) in ([], [ONE])
    else:
        assert response.json().get("usage") in (None, ONE)


def with_usage(said: Json) -> list[Json]:
    """Its chunks; the last holds the usage, where there is one."""
    chunks = list(streamed({"usage": None, **said}))
    return chunks if said.get("usage") else chunks[:-1]


@STRATEGIES
async def test_Q082_a_stream_that_did_not_ask_for_usage_gets_none(strategy: str) -> None:
    script = [costing(reply(search("s1", "weather")), ONE), costing(reply("Done."), TWO)]
    async with start_proxy(*script, strategy=strategy) as proxy:
        response = await proxy.post(body(stream=True))

    assert usages(response) == []
    assert response.text.endswith("data: [DONE]\n\n")


def counted(said: Json, usage: Json) -> Raw:
    """Some servers count in every chunk (`continuous_usage_stats`)."""
    return Raw(events(*({**chunk, "usage": usage} for chunk in streamed(said))))


async def test_Q082_where_every_chunk_counts_the_last_one_says_the_sum() -> None:
    script = [counted(reply(search("s1", "weather")), ONE), counted(reply("Done."), TWO)]
    async with start_proxy(*script) as proxy:
        response = await proxy.post(body(stream=True, **ASKED))

    assert usages(response)[-1] == BOTH
    assert max(usage["total_tokens"] for usage in usages(response)) == BOTH["total_tokens"]


async def test_Q082_where_every_chunk_counts_a_refusal_keeps_its_status() -> None:
    """A count beside a role says nothing yet: the next round may still be refused."""
    async with start_proxy(counted(reply(search("s1", "weather")), ONE), 429) as proxy:
        response = await proxy.post(body(stream=True, **ASKED))

    assert response.status_code == 429
    assert response.headers["retry-after"] == "9"


@FRAMINGS
async def test_Q082_a_round_that_is_played_again_is_paid_for(stream: bool) -> None:
    wrong = reply(call("c0", "get_weather", {"town": "Oslo"}))
    right = reply(call("c1", "get_weather", {"city": "Oslo"}))
    async with start_proxy(costing(wrong, ONE), costing(right, TWO)) as proxy:
        response = await proxy.post(body(stream=stream, **asking(stream)))

    assert usages(response) == [BOTH]


async def test_Q082_rounds_are_counted_in_a_header_and_not_in_the_usage() -> None:
    script = [costing(reply(search("s1", "weather")), ONE), costing(reply("Done."), TWO)]
    async with start_proxy(*script) as proxy:
        response = await proxy.post(body())

    assert response.headers["x-toolfold-searches"] == "1"
    assert response.json()["usage"].keys() == ONE.keys()


@FRAMINGS
async def test_Q082_one_round_keeps_its_usage_as_it_came(stream: bool) -> None:
    odd = {**ONE, "vendor": {"a": [1, "x"]}, "prompt_tokens_details": None}
    async with start_proxy(costing(reply("Done."), odd)) as proxy:
        response = await proxy.post(body(numbered(60), stream=stream, **asking(stream)))

    assert usages(response) == [odd]


@STRATEGIES
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_turn_that_ends_as_another_did_is_another(strategy: str, end: Any) -> None:
    app = App({}, strategy=strategy)
    sent: list[bytes] = []
    for n in range(3):
        sent += app.ask("Go on", reply(search(f"s{n}", "weather")), reply(end)).bodies
    for earlier, later in pairwise(sent):
        continues(later, earlier)


def test_a_question_whose_form_changes_is_the_same_question() -> None:
    """Clients that mark what is to be cached write the last question in parts, and as a text
    once it is not the last."""
    app = App({})
    before = app.ask("q", reply(search("s1", "weather")), reply("Done."))
    part = {"type": "text", "text": "q", "cache_control": {"type": "ephemeral"}}
    app.messages[0]["content"] = [part]
    after = app.ask("Next", reply("Bye."))
    assert after.tools(0) == before.tools(1)


@STRATEGIES
def test_tool_choice_changes_nothing_of_what_was_said(strategy: str) -> None:
    """DESIGN §3: the prefix stays."""
    app = App({}, strategy=strategy)
    app.ask("q", reply(search("s1", "weather")), reply(call("c1", "get_weather", OSLO)))
    deal = {"type": "function", "function": {"name": "crm__read_deal"}}
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [deal]}}
    sent = []
    for choice in ("auto", "none", "required", deal, allowed):
        more: Json = {"messages": app.messages, "records": app.records, "tools": TOOLS}
        one = play(reply("x"), tool_choice=choice, policy=app.policy, **more)
        is_valid(one.requests[0])
        sent.append(one.requests[0]["messages"])
    assert all(messages == sent[0] for messages in sent)


@STRATEGIES
def test_a_conversation_of_five_thousand_messages_is_read_at_once(strategy: str) -> None:
    """Within a second, of which a tenth is right, since machines are slow at times."""
    messages: list[Json] = []
    for n in range(1_250):
        messages.append({"role": "user", "content": f"q{n} " + "x" * 200})
        messages += calling(call(f"c{n}", "get_weather", OSLO))
        messages.append({"role": "assistant", "content": f"It rains {n}"})
    play(reply("ok"), policy={"strategy": strategy})
    began = process_time()
    played = play(reply("ok"), messages=messages, policy={"strategy": strategy})
    assert process_time() - began < 1
    is_valid(played.requests[0])


MANY = [tool(f"f{n // 20}__do_{chr(97 + n % 20)}", "A thing.", id="string") for n in range(300)]


def after_many_searches() -> tuple[App, Played]:
    app = App({}, result_tokens=10**6)
    for n in range(9):
        found = call(f"s{n}", "tool_search", {"queries": [f"f{n}"], "limit": 20})
        played = app.ask(f"Q{n}", reply(found), reply(f"Done {n}."), tools=MANY)
    return app, played


def test_what_is_found_is_declared_however_much_was_found_before() -> None:
    _, played = after_many_searches()
    answer = json.loads(played.requests[-1]["messages"][-1]["content"])
    assert {one["name"] for one in answer["tools"]} <= set(played.tools(-1))


def test_no_more_is_declared_than_an_upstream_takes() -> None:
    app, _ = after_many_searches()
    for n in range(3):
        app.ask(f"P{n}", reply(call(f"c{n}", f"f14__do_{'abc'[n]}", {"id": "1"})), tools=MANY)
        assert len(app.ask("", reply("Ok."), tools=MANY).tools(0)) <= 128
