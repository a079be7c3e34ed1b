"""What folding did not cause is passed on at once; what it did is mended or undone."""

import json
from typing import Any

import pytest

from tests.builders import CATALOG, body, call, dumps, events, reply, search, streamed, tool
from tests.conftest import start_proxy
from tests.quirks import rules
from tests.quirks.rules import assistants, refusal, ruled
from tests.quirks.seen import seen
from tests.upstream import Raw

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
STRATEGIES = pytest.mark.parametrize("strategy", ["promote", "wrap"])
THOUGHT: dict[str, Any] = {"reasoning": "r", "reasoning_content": "plan"}
SEARCH = reply(search("s1", "weather"))
THINKING = reply(search("s1", "weather"), **THOUGHT)

NOT_OURS = {
    "a bad key": refusal("Incorrect API key provided: the tools are fine", 401),
    "no permission": refusal("You may not use tools", 403),
    "no such model": refusal("The model `m` does not exist or does not take tools", 404),
    "too many requests": refusal("Rate limit reached for tools", 429),
    "too large": refusal("tools: request entity too large", 413),
    "a fault": refusal("tool_search failed", 500),
    "overloaded": refusal("tool_search overloaded", 503),
    "another field": refusal(
        "Unsupported value: 'temperature' does not support 3", param="temperature"
    ),
    "a long context": refusal(
        "This model's maximum context length is 8192 tokens; messages and tools are 9000"
    ),
    "no tools at all": refusal("Tools are not supported by this model"),
    "a choice": refusal("Invalid value for `tool_choice`: sometimes! Only named tools or auto"),
    "calls at once": refusal("parallel_tool_calls is only allowed when tools are specified"),
    "a filter": refusal("content filter: the message violates the content policy"),
    "no JSON": Raw(b"<h1>Bad Request</h1>", 400, "text/html"),
    "nothing": Raw(b"", 400, "application/json"),
    "a client's tool": refusal("Invalid 'tools[0].function.description'", param="tools[0]"),
}


@FRAMINGS
@STRATEGIES
@pytest.mark.parametrize("refused", NOT_OURS.values(), ids=NOT_OURS)
@pytest.mark.parametrize("rounds", [1, 2], ids=["first", "hidden"])
async def test_what_folding_did_not_cause_is_passed_on_at_once(
    rounds: int, refused: Raw, strategy: str, stream: bool
) -> None:
    script: list[Any] = [refused] if rounds == 1 else [SEARCH, refused]
    tools = [tool("think"), *CATALOG]
    async with start_proxy(*script, strategy=strategy) as proxy:
        response = await proxy.post(body(tools, stream=stream))

    assert (response.status_code, response.content) == (refused.status, refused.body)
    assert len(proxy.upstream.received) == rounds


@FRAMINGS
@STRATEGIES
@pytest.mark.parametrize(
    "message",
    [
        "messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
        "messages[0].content: unknown image in tools",
        "No tool output found for function call tool_call_id c1",
    ],
)
async def test_a_history_that_is_the_clients_own_is_passed_on(
    message: str, strategy: str, stream: bool
) -> None:
    async with start_proxy(refusal(message), strategy=strategy) as proxy:
        response = await proxy.post(body(stream=stream))

    assert (response.status_code, len(proxy.upstream.received)) == (400, 1)


@FRAMINGS
@STRATEGIES
@pytest.mark.parametrize("rounds", [1, 2], ids=["first", "hidden"])
async def test_the_last_resort_is_the_clients_own_request(
    rounds: int, strategy: str, stream: bool
) -> None:
    def rule(sent: Any) -> Raw | None:
        ours = {t["function"]["name"] for t in sent["tools"]} - names
        refused = bool(ours) if rounds == 1 else bool(assistants(sent))
        return refusal("Invalid tools: something is wrong with them") if refused else None

    names = {one["function"]["name"] for one in CATALOG}
    theirs = [call("c1", "get_weather", {"city": "Oslo"}), call("c2", "no_such_tool", {})]
    script = [SEARCH] * (rounds - 1) + [reply("So. ", *theirs)]
    sent = body(stream=stream)
    async with start_proxy(ruled(rule, *script), strategy=strategy) as proxy:
        response = await proxy.post(sent)

    told = seen(response)
    assert (told.text, [one[:2] for one in told.calls]) == (
        "So. ",
        [["c1", "get_weather"], ["c2", "no_such_tool"]],
    )
    assert proxy.upstream.received[-1].body == sent
    assert len(proxy.upstream.received) == rounds + 1
    assert response.headers["x-toolfold-decision"] == "relayed"
    assert response.headers["x-toolfold-tools"] == f"{len(CATALOG)}/{len(CATALOG)}"


@FRAMINGS
async def test_where_that_is_refused_too_its_refusal_is_the_clients(stream: bool) -> None:
    answers = [refusal("tools: wrong, in our words"), refusal("tools: wrong, in the client's")]
    async with start_proxy(*answers) as proxy:
        response = await proxy.post(body(stream=stream))

    assert response.status_code == 400
    assert "client's" in response.json()["error"]["message"]
    assert len(proxy.upstream.received) == 2


@FRAMINGS
@pytest.mark.parametrize("hidden", ["get_weather", "none_of_these"])
async def test_where_a_policy_may_hide_a_refusal_is_the_last(hidden: str, stream: bool) -> None:
    """The client's own request, and what comes back, would be passed on unread."""
    async with start_proxy(refusal("tools: no"), hidden=(hidden,)) as proxy:
        response = await proxy.post(body(stream=stream))

    assert (response.status_code, len(proxy.upstream.received)) == (400, 1)
    assert (b"get_weather" in proxy.upstream.received[0].body) is (hidden != "get_weather")


@FRAMINGS
async def test_a_request_in_another_form_still_hides(stream: bool) -> None:
    made = call("c1", "get_weather", {"city": "Oslo"})
    script: list[Any] = [refusal("no tool called tool_search"), reply(made), reply("Hm.")]
    async with start_proxy(*script, hidden=("get_weather",)) as proxy:
        response = await proxy.post(body(stream=stream))

    told = seen(response)
    assert (told.text, told.calls, told.finishes) == ("Hm.", [], ["stop"])
    assert [one.tools for one in proxy.upstream.received] == [
        *(["tool_search"], ["find_tools"], ["find_tools"]),
    ]
    declared = [json.dumps(one["tools"]) for one in proxy.upstream.requests]
    assert not any("get_weather" in tools for tools in declared)


@FRAMINGS
async def test_marks_and_hosted_searches_are_taken_out_at_last(stream: bool) -> None:
    tools = [{**CATALOG[0], "defer_loading": True}, *CATALOG[1:], {"type": "tool_search"}]
    async with start_proxy(refusal("tools: no"), reply("Hi")) as proxy:
        response = await proxy.post(body(tools, stream=stream))

    assert seen(response).text == "Hi"
    assert proxy.upstream.requests[-1]["tools"] == CATALOG


NOT_THE_FORMAT = {
    "code": 500,
    "message": "The model produced output that does not match the expected peg-native format",
    "type": "server_error",
}
UNREADABLE = {
    "status": Raw(dumps({"error": NOT_THE_FORMAT}), 500, "application/json"),
    "stream": Raw(
        events({**next(streamed(reply(""))), "x": 1}, {"error": NOT_THE_FORMAT}, done=False)
    ),
}


@FRAMINGS
@STRATEGIES
@pytest.mark.parametrize("said", UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("rounds", [1, 2], ids=["first", "hidden"])
async def test_a_call_that_the_upstream_cannot_read_has_the_apps_own_request_sent(
    rounds: int, said: Raw, strategy: str, stream: bool
) -> None:
    """llama.cpp's server: its grammar knows the declared tools alone, so a call straight from
    the manifest is a 500 that names none. With all tools declared it is a call."""
    made = call("c1", "get_weather", {"city": "Oslo"})
    script: list[Any] = [SEARCH, said, reply(made)][2 - rounds :]
    async with start_proxy(*script, strategy=strategy) as proxy:
        response = await proxy.post(body(stream=stream))

    assert response.status_code == 200
    assert [name for _, name, _ in seen(response).calls] == ["get_weather"]
    assert len(proxy.upstream.received) == rounds + 1
    assert proxy.upstream.requests[-1]["tools"] == CATALOG


@FRAMINGS
@pytest.mark.parametrize("mode", ["auto", "on"])
async def test_too_many_tools_are_not_tried_unfolded(mode: str, stream: bool) -> None:
    tools = [tool(f"crm__read_{at:03}", "Reads.") for at in range(130)]
    async with start_proxy(refusal("tools: no"), mode=mode, min_tokens=10**6) as proxy:
        response = await proxy.post(body(tools, stream=stream))

    assert (response.status_code, len(proxy.upstream.received)) == (400, 1)


async def test_behind_a_word_the_client_has_seen_only_the_one_retry_is_left() -> None:
    """DESIGN: a hidden round is tried once more behind the 200; it is tried in the other form."""
    first = reply("Let me see. ", search("s1", "weather"), **THOUGHT)
    async with start_proxy(ruled(rules.extra_forbidden, first, reply("Done."))) as proxy:
        await proxy.post(body(stream=True))

    assert len(proxy.upstream.received) == 3
    nothing = ruled(lambda sent: refusal("tools: no") if assistants(sent) else None, first)
    async with start_proxy(nothing) as proxy:
        response = await proxy.post(body(stream=True))

    assert len(proxy.upstream.received) == 3
    assert len(seen(response).errors) == 1


@pytest.mark.parametrize("code", [400, "400", 422])
async def test_a_refusal_inside_a_200_teaches_as_well(code: Any) -> None:
    """Gateways that answer 200 and say `error` in the body."""
    error = {"error": {"message": "property 'reasoning_content' is unsupported", "code": code}}

    def rule(sent: Any) -> Raw | None:
        refused = any("reasoning_content" in one for one in assistants(sent))
        return Raw(dumps(error), 200, "application/json") if refused else None

    async with start_proxy(ruled(rule, THINKING, reply("Done."))) as proxy:
        response = await proxy.post(body())

    assert (seen(response).text, len(proxy.upstream.received)) == ("Done.", 3)


@FRAMINGS
async def test_a_gateways_wrapping_is_read_through(stream: bool) -> None:
    inner = '{"error": {"message": "property \'reasoning_content\' is unsupported"}}'
    said = f"litellm.BadRequestError: GroqException - {inner}"

    def rule(sent: Any) -> Raw | None:
        refused = any("reasoning_content" in one for one in assistants(sent))
        return refusal(said) if refused else None

    async with start_proxy(ruled(rule, THINKING, reply("Done."))) as proxy:
        response = await proxy.post(body(stream=stream))

    assert (seen(response).text, len(proxy.upstream.received)) == ("Done.", 3)
