"""Upstreams that contradict each other: one request more, in the other form, and then known.

Never more than one a trait, never for what folding did not cause, and at last the client's own
request while the client has seen nothing.
"""

from typing import Any

import pytest

from tests.builders import body, call, dumps, reply, request, search
from tests.conftest import start_proxy
from tests.quirks import rules
from tests.quirks.rules import Rule, assistants, refusal, ruled, wants
from tests.quirks.seen import seen
from tests.upstream import Raw

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
STRATEGIES = pytest.mark.parametrize("strategy", ["promote", "wrap"])
THOUGHT: dict[str, Any] = {
    "reasoning": "r",
    "reasoning_content": "plan",
    "refusal": None,
    "annotations": [],
}
SEARCH = reply(search("s1", "weather"))
THINKING = reply(search("s1", "weather"), **THOUGHT)


def made(strategy: str, **extra: Any) -> Any:
    if strategy == "wrap":
        inner = {"name": "get_weather", "arguments": {"city": "Oslo"}}
        return call("c1", "call_tool", inner, **extra)
    return call("c1", "get_weather", {"city": "Oslo"}, **extra)


@FRAMINGS
@STRATEGIES
@pytest.mark.parametrize(
    "said",
    [
        "thinking is enabled but reasoning_content is missing in assistant tool call message",
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "Missing `reasoning_content` field in the assistant message at message index 1.",
        "messages.1.reasoning_content: Field required",
    ],
)
async def test_Q032_reasoning_that_is_wanted_is_empty_where_there_was_none(
    said: str, strategy: str, stream: bool
) -> None:
    script = ruled(wants("reasoning_content", said), SEARCH, reply("Done."))
    async with start_proxy(script, strategy=strategy) as proxy:
        first = await proxy.post(body(stream=stream))
        second = await proxy.post(body(stream=stream))

    assert [seen(one).text for one in (first, second)] == ["Done.", "Done."]
    assert len(proxy.upstream.received) == 4  # it searched once: the script said Done. again
    assert [one["reasoning_content"] for one in assistants(proxy.upstream.requests[2])] == [""]
    assert first.headers["x-toolfold-learned"] == "wants"
    assert "x-toolfold-learned" not in second.headers


@FRAMINGS
async def test_Q032_what_was_thought_stays_where_something_is_missing(stream: bool) -> None:
    """One round had reasoning, the next none."""
    said = reply(search("s2", "refund"))
    script = ruled(wants("reasoning_content"), THINKING, said, reply("Done."))
    async with start_proxy(script) as proxy:
        response = await proxy.post(body(stream=stream))

    assert seen(response).text == "Done."
    echoed = assistants(proxy.upstream.requests[-1])
    assert [one["reasoning_content"] for one in echoed] == ["plan", ""]
    assert len(proxy.upstream.received) == 4


@FRAMINGS
async def test_Q032_client_messages_are_not_edited(stream: bool) -> None:
    theirs = {"role": "assistant", "content": "", "tool_calls": [call("h1", "get_weather", {})]}
    result = {"role": "tool", "tool_call_id": "h1", "content": "ok"}
    asked = request(stream=stream)
    asked["messages"] += [theirs, result]
    async with start_proxy(ruled(wants("reasoning_content"), SEARCH, reply("x"))) as proxy:
        response = await proxy.post(dumps(asked))

    assert response.status_code == 400  # as it would be without us
    assert all(theirs in one["messages"] for one in proxy.upstream.requests)


STRICT: dict[str, Rule] = {
    "Mistral": rules.extra_forbidden,
    "Groq": rules.unsupported,
    "nameless": rules.nameless_extra,
}


@FRAMINGS
@STRATEGIES
@pytest.mark.parametrize("rule", STRICT.values(), ids=STRICT)
async def test_Q033_what_is_refused_is_not_echoed(rule: Rule, strategy: str, stream: bool) -> None:
    script = ruled(rule, THINKING, reply(made(strategy)))
    async with start_proxy(script, strategy=strategy) as proxy:
        response = await proxy.post(body(stream=stream))

    (echoed,) = assistants(proxy.upstream.requests[-1])
    assert seen(response).calls[0][:2] == ["c1", "get_weather"]
    assert echoed.keys() == {"role", "content", "tool_calls"}
    assert len(proxy.upstream.received) <= 4  # two members may be refused one by one
    # Streamed, the client has seen the reasoning and the head before anything was learned.
    assert stream or "never" in response.headers["x-toolfold-learned"]


@FRAMINGS
@pytest.mark.parametrize("profile", ["groq", "mistral"])
async def test_Q033_a_known_upstream_is_not_asked_to_refuse(profile: str, stream: bool) -> None:
    script = ruled(rules.extra_forbidden, THINKING, reply("Done."))
    async with start_proxy(script, upstream_profile=profile) as proxy:
        response = await proxy.post(body(stream=stream))

    assert (seen(response).text, len(proxy.upstream.received)) == ("Done.", 2)


@FRAMINGS
async def test_Q033_members_of_calls_are_taken_out_too(stream: bool) -> None:
    def rule(sent: Any) -> Raw | None:
        calls = [one for m in assistants(sent) for one in m["tool_calls"]]
        extra = {key for one in calls for key in one} - {"id", "type", "function"}
        said = f"Unrecognized request argument supplied: {', '.join(extra)}"
        return refusal(said) if extra else None

    first = reply({**search("s1", "weather"), "vendor_mark": 1, "extra_content": {"x": 1}})
    async with start_proxy(ruled(rule, first, reply("Done."))) as proxy:
        response = await proxy.post(body(stream=stream))

    assert (seen(response).text, len(proxy.upstream.received)) == ("Done.", 3)


@FRAMINGS
async def test_Q028_Q033_two_models_of_one_upstream_may_differ(stream: bool) -> None:
    """What is learned belongs to the model."""

    def rule(sent: Any) -> Raw | None:
        strict = sent["model"] == "strict"
        return rules.extra_forbidden(sent) if strict else wants("reasoning_content")(sent)

    script = [reply(search(f"s{n}", "weather"), **THOUGHT) for n in range(2)]
    turns = [script[0], reply("one"), script[1], reply("two")]
    async with start_proxy(ruled(rule, *turns)) as proxy:
        first = await proxy.post(body(stream=stream, model="strict"))
        second = await proxy.post(body(stream=stream, model="thinker"))

    assert [seen(one).text for one in (first, second)] == ["one", "two"]
    assert "x-toolfold-learned" not in second.headers


@FRAMINGS
@pytest.mark.parametrize("profile", ["gemini", "default"])
async def test_Q030_a_call_that_we_made_up_is_signed_where_it_has_to_be(
    profile: str, stream: bool
) -> None:
    """With `wrap` and no memory a search is put before the first use of a tool."""
    asked = request(stream=stream)
    asked["messages"] += [
        {"role": "assistant", "content": "", "tool_calls": [call("h1", "get_weather", {})]},
        {"role": "tool", "tool_call_id": "h1", "content": "ok"},
        {"role": "user", "content": "And now?"},
    ]
    our_calls = ruled(lambda sent: rules.signed({"messages": assistants(sent)[:1]}), reply("Done."))
    async with start_proxy(our_calls, strategy="wrap", upstream_profile=profile) as proxy:
        response = await proxy.post(dumps(asked))

    assert seen(response).text == "Done."
    assert len(proxy.upstream.received) == (1 if profile == "gemini" else 2)


FORMS: dict[str, tuple[Rule, str, str]] = {
    "no empty text": (rules.spoken, "content", "anthropic-compat"),
    "a named result": (rules.named_results, "names_results", "gemini"),
    "a short id": (rules.short_ids, "short_ids", "mistral"),
}


@FRAMINGS
@STRATEGIES
@pytest.mark.parametrize(("rule", "trait", "profile"), FORMS.values(), ids=FORMS)
async def test_a_form_is_learned_once_and_known_to_the_profile(
    rule: Rule, trait: str, profile: str, strategy: str, stream: bool
) -> None:
    script = [
        reply(search("s1", "weather")),
        reply("one"),
        reply(search("s2", "deal")),
        reply("two"),
    ]
    async with start_proxy(ruled(rule, *script), strategy=strategy) as proxy:
        first = await proxy.post(body(stream=stream))
        second = await proxy.post(body(stream=stream))
    async with start_proxy(
        ruled(rule, *script), strategy=strategy, upstream_profile=profile
    ) as known:
        third = await known.post(body(stream=stream))

    assert [seen(one).text for one in (first, second, third)] == ["one", "two", "one"]
    assert first.headers["x-toolfold-learned"] == trait
    assert (len(proxy.upstream.received), len(known.upstream.received)) == (5, 2)


@FRAMINGS
async def test_null_is_given_up_where_it_is_refused(stream: bool) -> None:
    script = ruled(rules.never_null, SEARCH, reply("Done."))
    async with start_proxy(script, upstream_profile="anthropic-compat") as proxy:
        response = await proxy.post(body(stream=stream))

    assert (seen(response).text, len(proxy.upstream.received)) == ("Done.", 3)


@FRAMINGS
@STRATEGIES
async def test_several_traits_are_learned_in_one_turn(strategy: str, stream: bool) -> None:
    """One request more for each of them."""
    asked: list[Rule] = [rules.short_ids, rules.spoken, rules.not_named("tool_search")]

    def rule(sent: Any) -> Raw | None:
        return next((said for one in asked if (said := one(sent))), None)

    script = ruled(rule, reply(call("s1", "find_tools", {"queries": ["weather"]})), reply("Done."))
    async with start_proxy(script, strategy=strategy) as proxy:
        first = await proxy.post(body(stream=stream))

    assert seen(first).text == "Done."
    assert len(proxy.upstream.received) <= 2 + 4
    assert set(first.headers["x-toolfold-learned"].split(",")) == {"bridge", "short_ids", "content"}
