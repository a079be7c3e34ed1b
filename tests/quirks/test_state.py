"""What one request leaves for the next: never another's, never too much, never a failure."""

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.codec import Json
from tests import client
from tests.builders import (
    CATALOG,
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
from tests.player import Framing, Played, Records, buffered, in_pieces, play
from tests.scripts import wrapped
from tests.test_conversation import continues
from tests.upstream import Raw

FRAMINGS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
STRATEGIES = pytest.mark.parametrize("strategy", ["promote", "wrap"])
OSLO = {"city": "Oslo"}
TOOLS = [*CATALOG, tool("think"), tool("vault__open", "Open the vault.", id="string")]
HIDDEN = ("vault__*",)


class App:
    """A conversation: it keeps what it is told."""

    def __init__(self, records: Records, **policy: Any) -> None:
        self.records = records
        self.policy: Json = {"hidden": HIDDEN, **policy}
        self.messages: list[Json] = []

    def ask(self, text: str, *script: Json, framing: Framing = buffered, **more: Any) -> Played:
        """One turn; behind calls it sends their results instead of a question."""
        if not self.messages or self.messages[-1]["role"] != "tool":
            self.messages.append({"role": "user", "content": text})
        chosen = {"tools": TOOLS, "policy": self.policy, "messages": self.messages, **more}
        played = play(*script, framing=framing, records=self.records, **chosen)
        assert played.failure is None
        self.messages.append(played.message)
        for made in played.message.get("tool_calls") or []:
            result = {"role": "tool", "tool_call_id": made["id"], "content": "ok"}
            self.messages.append(result)
        return played


def text_of(played: Played, at: int = 0) -> str:
    return json.dumps(played.requests[at]["messages"])


MADE_UP = {"send_fax", "vault__open", "functions_crm__merge_lead", "functions.crm__merge_lead"}
"""A model's own inventions stay in the conversation where they are answered, or have left."""
NEVER_LEAVES = {"tool_search", "call_tool", "vault__open"}


def is_valid(request: Json) -> None:
    """A model's own inventions stay in the conversation where they are answered."""
    client.is_valid(request, frozenset(MADE_UP))


@FRAMINGS
@STRATEGIES
async def test_Q078_what_the_history_calls_can_be_called_on_a_fresh_process(
    stream: bool, strategy: str
) -> None:
    """With `promote` it is declared; with `wrap`, DESIGN: called through the one tool."""
    one = call("c1", "t42", {"a": 1})
    history = [
        {"role": "assistant", "content": None, "tool_calls": [one]},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    ]
    messages = [{"role": "user", "content": "q"}, *history]
    again = call("c2", "t42", {})
    async with start_proxy(reply(again), strategy=strategy, deferred=("t*",)) as proxy:
        sent = dumps(request(numbered(60), messages=messages, stream=stream))
        response = await proxy.post(sent)

    (received,) = proxy.upstream.received
    assert b'"c2"' in response.content
    assert received.tools == ["tool_search", "t42" if strategy == "promote" else "call_tool"]
    assert strategy == "wrap" or received.json["tools"][1] == numbered(60)[42]
    is_valid(received.json)


@FRAMINGS
@STRATEGIES
async def test_Q079_a_restart_changes_no_tool(stream: bool, strategy: str) -> None:
    """One process for every turn and one for all declare the same, where the model calls what
    it finds; what it only finds is remembered (`test_replicas`)."""
    turns = [[reply(call(f"c{n}", f"t{n:02}", {}))] for n in (42, 7, 42, 19)]
    chosen: Json = {"strategy": strategy, "deferred": ("t*",), "store": "none"}
    asked = request(numbered(60), stream=stream)
    bodies: list[list[bytes]] = [[], []]
    async with start_proxy(*(one for turn in turns for one in turn), **chosen) as lasting:
        for turn in turns:
            await lasting.post(dumps(asked))
            async with start_proxy(*turn, **chosen) as fresh:
                await fresh.post(dumps(asked))
            bodies[0].append(lasting.upstream.received[-1].body)
            bodies[1].append(fresh.upstream.received[-1].body)
            one = turn[0]["choices"][0]["message"]
            result = {"role": "tool", "tool_call_id": one["tool_calls"][0]["id"], "content": "ok"}
            asked["messages"] = [*asked["messages"], one, result]

    assert bodies[0] == bodies[1]


MINE = reply(search("s1", "refund for Mallory"), reasoning_content="Mallory is broke.")
ENDS = {"an id that servers give again": call("call_0", "think"), "the same words": "Done."}


@STRATEGIES
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_conversation_is_not_told_what_was_said_in_another(strategy: str, end: Any) -> None:
    """An app has one key for all of its users. Ollama, Kimi and others number their calls
    (`call_0`), and "Go on" is answered "Done." again and again."""
    records: Records = {}
    App(records, strategy=strategy).ask("Go on", MINE, reply(end))
    other = App(records, strategy=strategy)
    other.messages = [{"role": "user", "content": "A different matter."}]
    other.messages.append({"role": "assistant", "content": "Yes?"})
    other.ask("Go on", reply(end))
    assert "Mallory" not in text_of(other.ask("Next", reply("Bye.")))


@STRATEGIES
def test_words_are_remembered_where_a_stream_cuts_an_emoji_in_two(strategy: str) -> None:
    """The client puts the halves together, and so must we."""
    app = App({}, strategy=strategy)
    halves = "\ud83d\ude00"
    app.ask("q", reply(halves, search("s1", "weather")), reply("Done."), framing=in_pieces(1))
    app.messages[-1]["content"] = "\U0001f600Done."
    assert "s1" in text_of(app.ask("Next", reply("Bye.")))


@FRAMINGS
@STRATEGIES
async def test_half_an_emoji_before_a_search_costs_no_reply(stream: bool, strategy: str) -> None:
    """Only an escape can write it: a stream may cut between the halves."""
    said = reply("x ", search("s1", "weather"))
    text = events(*streamed(said)) if stream else dumps(said)
    kind = "text/event-stream" if stream else "application/json"
    first = Raw(text.replace(b'"x ', b'"\\ud83d '), content_type=kind)
    async with start_proxy(first, reply("Done."), strategy=strategy) as proxy:
        response = await proxy.post(body(stream=stream))

    assert response.status_code == 200
    assert (b"[DONE]" if stream else b"Done.") in response.content


@pytest.mark.parametrize("framing", [buffered, in_pieces(3)], ids=["buffered", "streamed"])
@STRATEGIES
def test_a_call_with_arguments_that_are_not_json_leaves(framing: Framing, strategy: str) -> None:
    """Played again once, then as it is: whether it can be run is for the client to say."""
    text = '{"city":"x","units":NaN}'
    made = call("c1", "get_weather", text)
    if strategy == "wrap":
        made = call("c1", "call_tool", f'{{"name":"get_weather","arguments":{text}}}')
    played = App({}, strategy=strategy).ask("q", reply(made), framing=framing)
    assert played.calls == [("c1", "get_weather", text)]


@STRATEGIES
def test_two_wrong_calls_of_a_tool_show_it_once(strategy: str) -> None:
    """Upstreams refuse a tool that is declared twice."""
    wrong = [call(f"w{n}", "get_weather", {"town": "x"}) for n in range(2)]
    app = App({}, strategy=strategy)
    played = app.ask("q", reply(*wrong), reply(call("c1", "get_weather", OSLO)))
    for one in (played, app.ask("", reply("Done."))):
        names = one.tools(-1)
        assert len(set(names)) == len(names)
        assert text_of(one, -1).count("Current weather") <= (strategy == "wrap")


def test_the_names_of_our_tools_are_the_same_wherever_they_stand() -> None:
    """The history has a tool called like ours: what we call ours, we call so everywhere."""
    app = App({}, strategy="wrap")
    app.messages = [{"role": "user", "content": "q"}]
    app.messages += calling(call("a", "tool_search"), call("b", "call_tool"))
    sent = app.ask("", reply("Ok.")).requests[0]["tools"]
    bridge, wrapper = (one["function"] for one in sent if one["function"]["name"] != "think")
    assert {bridge["name"], wrapper["name"]}.isdisjoint({"tool_search", "call_tool"})
    assert f"`{bridge['name']}`" in wrapper["description"]


def calling(*calls: Json) -> list[Json]:
    results = [{"role": "tool", "tool_call_id": one["id"], "content": "ok"} for one in calls]
    return [{"role": "assistant", "content": None, "tool_calls": list(calls)}, *results]


ECHOES: dict[str, Callable[[list[Json]], Any]] = {
    "members of its own": lambda calls: [
        c.update(provider_specific_fields={"a": 1}) for c in calls
    ],
    "an index": lambda calls: [c.update(index=at) for at, c in enumerate(calls)],
    "the same id twice": lambda calls: [c.update(id="c1") for c in calls],
}


@STRATEGIES
@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
def test_a_mixed_round_keeps_each_call_as_the_client_has_it(strategy: str, echo: Any) -> None:
    app = App({}, strategy=strategy)
    app.ask("q", reply(call("c1", "think"), search("s1", "refund"), call("c2", "think", {"n": 2})))
    theirs = app.messages[1]["tool_calls"]
    echo(theirs)
    (got,) = [m for m in app.ask("", reply("Ok.")).requests[0]["messages"] if m.get("tool_calls")]
    assert [one for one in got["tool_calls"] if one["id"] != "s1"] == theirs


def items(strategy: str, kind: str, through: bool, n: int) -> Json:
    """A call of some kind as a model may make it."""
    identifier = f"i{n}"
    if kind == "search":
        return search(identifier, ("weather", "refund", "deal", "nothing at all")[n % 4])
    if kind == "unread":
        return call(identifier, "tool_search", "{")
    name, arguments = CALLS[kind]
    made = wrapped if through and strategy == "wrap" else call
    return dict(made(identifier, name, arguments))


CALLS: dict[str, tuple[str, Json]] = {
    "direct": ("think", {}),
    "ok": ("crm__read_deal", {"id": "1"}),
    "wrong": ("get_weather", {"x": 1}),
    "alias": ("functions.crm__merge_lead", {"id": "1"}),
    "unknown": ("send_fax", {}),
    "hidden": ("vault__open", {"id": "1"}),
}
KINDS = st.tuples(st.sampled_from([*CALLS, "search", "unread"]), st.booleans())
ROUNDS = st.tuples(st.booleans(), st.lists(KINDS, max_size=3)).filter(any)
TURNS = st.lists(st.tuples(st.lists(ROUNDS, min_size=1, max_size=4), st.booleans()), min_size=1)


@settings(max_examples=150)
@given(
    turns=TURNS,
    strategy=st.sampled_from(["promote", "wrap"]),
    framing=st.sampled_from([buffered, in_pieces(3)]),
    forgets=st.booleans(),
)
def test_whatever_a_model_does_every_request_is_valid(
    turns: Any, strategy: str, framing: Framing, forgets: bool
) -> None:
    numbers = itertools.count()
    app = App({}, strategy=strategy)
    sent: list[bytes] = []
    for rounds, forget in turns:
        if forgets and forget:
            app.records.clear()
        script = [
            reply(
                *([f"Words {next(numbers)}. "] if speaks else []),
                *(items(strategy, kind, through, next(numbers)) for kind, through in made),
            )
            for speaks, made in rounds
        ]
        played = app.ask(
            f"Question {next(numbers)}", *script, reply(f"Done {next(numbers)}."), framing=framing
        )
        for one in played.requests:
            is_valid(one)
        assert not {name for _, name, _ in played.calls} & NEVER_LEAVES
        sent += played.bodies
    said = [m for m in app.messages if m["role"] == "assistant"]
    if not forgets and all(m.get("content") or m.get("tool_calls") for m in said):
        for earlier, later in itertools.pairwise(sent):
            continues(later, earlier)
