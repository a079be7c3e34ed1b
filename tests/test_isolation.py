"""What is remembered for one caller is recalled for that caller and for nobody else."""

import asyncio
import json
import tracemalloc
from collections.abc import Coroutine
from itertools import product
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from app.core.codec import Json
from app.core.conversation import Conversation
from app.core.exchange import shown
from app.core.memory import Record, load
from app.http import Headers
from app.memory import Memory
from app.stores.memory import MemoryStore
from tests.builders import body, call, dumps, reply, request, search
from tests.conftest import start_proxy
from tests.player import play
from tests.quirks.test_state import App, is_valid
from tests.scripts import wrapped

T = TypeVar("T")
PREFIX = "sk-proj-" + "A" * 200
"""Keys of one provider begin alike: who compares or hashes a part of them mixes them up."""
TENANTS = ["", "a", "b", "a\0authorization\0Bearer x", PREFIX + "1", PREFIX + "2"]
CREDENTIALS: list[Headers] = [
    [],
    *([(b"authorization", f"Bearer {PREFIX}{n}".encode())] for n in range(3)),
    *([(name, PREFIX.encode())] for name in (b"api-key", b"x-api-key", b"x-goog-api-key")),
    [(b"authorization", PREFIX.encode()), (b"api-key", b"1")],
    [(b"authorization", PREFIX.encode()), (b"x-api-key", b"1")],
    [(b"authorization", PREFIX.encode() + b"api-key"), (b"x-api-key", b"1")],
]
OWNERS = list(product(TENANTS, range(len(CREDENTIALS))))
KEYS = ["call:call_0", "call:call_00", f"call:{PREFIX}", "text:0", "text:00"]
NOISE: Headers = [(b"content-type", b"application/json"), (b"x-request-id", b"1")]


def awaited(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits."""
    return asyncio.run(coroutine)


class Callers(RuleBasedStateMachine):
    """Many callers, two replicas, one store: the model keeps each caller's records apart."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore(10**8, 10**6, 60)
        self.kept: dict[tuple[tuple[str, int], str], str] = {}
        self.recalled = 0

    def memory(self, owner: tuple[str, int], order: int) -> Memory:
        tenant, credential = owner
        headers = CREDENTIALS[credential] + NOISE
        return Memory(self.store, headers[order:] + headers[:order], tenant)

    @initialize()
    def everyone_uses_the_same_id(self) -> None:
        for owner in OWNERS:
            self.remember(owner, KEYS[0], 0)

    @rule(owner=st.sampled_from(OWNERS), key=st.sampled_from(KEYS), order=st.integers(0, 3))
    def remember(self, owner: tuple[str, int], key: str, order: int) -> None:
        mark = f"{owner!r}{key}"
        record = Record([shown(["get_weather"], mark.encode())], ["get_weather"], spoken=mark)
        awaited(self.memory(owner, order).remember(key, record))
        self.kept[owner, key] = mark

    @rule(owner=st.sampled_from(OWNERS), order=st.integers(0, 3))
    def recall(self, owner: tuple[str, int], order: int) -> None:
        found = awaited(self.memory(owner, order).recall(KEYS))
        said = {key: record.spoken for key, record in found.items()}
        assert said == {key: mark for (whose, key), mark in self.kept.items() if whose == owner}
        self.recalled += 1

    @invariant()
    def every_record_is_somebodys(self) -> None:
        assert len(self.store) == len(self.kept)


TestCallers = Callers.TestCase
TestCallers.settings = settings(max_examples=200, stateful_step_count=50, deadline=None)


def read(headers: Headers, other: Headers, tenant: str = "") -> bool:
    """Whether what is remembered under these headers is recalled under the others."""
    store = MemoryStore(10**6, 100, 60)
    awaited(Memory(store, headers, tenant).remember("k", Record(spoken="x")))
    return bool(awaited(Memory(store, other, tenant).recall(["k"])))


KEY: Headers = [(b"authorization", b"Bearer x"), (b"api-key", b"y")]
SAME: dict[str, Headers] = {
    "another order": KEY[::-1],
    "other headers between": [KEY[0], *NOISE, KEY[1]],
    "one twice": [*KEY, KEY[0]],
}


@pytest.mark.parametrize("headers", SAME.values(), ids=SAME)
def test_the_same_credentials_are_the_same_caller(headers: Headers) -> None:
    assert read(KEY, headers)


OTHERS: dict[str, tuple[Headers, Headers]] = {
    "the last letter": ([(b"api-key", PREFIX.encode())], [(b"api-key", PREFIX.encode() + b"x")]),
    "the case": ([(b"api-key", b"abc")], [(b"api-key", b"Abc")]),
    "the scheme": ([(b"authorization", b"Bearer x")], [(b"authorization", b"Basic x")]),
    "which header": ([(b"api-key", b"x")], [(b"x-api-key", b"x")]),
    "one more": (KEY, KEY[:1]),
    "none": (KEY, []),
    "cut elsewhere": (
        [(b"api-key", b"a"), (b"x-api-key", b"b")],
        [(b"api-key", b"ab"), (b"x-api-key", b"")],
    ),
}


@pytest.mark.parametrize(("one", "other"), OTHERS.values(), ids=OTHERS)
def test_other_credentials_are_another_caller(one: Headers, other: Headers) -> None:
    assert not read(one, other)
    assert not read(other, one)


ELSEWHERE = [
    *(b"cookie", b"proxy-authorization", b"cf-aig-authorization", b"helicone-auth"),
    *(b"ocp-apim-subscription-key", b"x-litellm-api-key", b"x-portkey-api-key", b"x-auth-token"),
]


@pytest.mark.parametrize("name", ELSEWHERE, ids=[name.decode() for name in ELSEWHERE])
def test_callers_whose_credential_is_in_another_header_are_apart(name: bytes) -> None:
    """Gateways in front of the same upstream read keys of their own."""
    assert not read([(name, b"one")], [(name, b"two")])


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
@pytest.mark.parametrize("strategy", ["promote", "wrap"])
async def test_a_guessed_id_reveals_nothing_of_another_caller(stream: bool, strategy: str) -> None:
    one = call("call_0", "get_weather", {"city": "Oslo"})
    told = [
        {"role": "assistant", "content": None, "tool_calls": [one]},
        {"role": "tool", "tool_call_id": "call_0", "content": "rain"},
    ]
    asked: Json = request(stream=stream)
    script = [reply(search("s1", "refund for Mallory"), one), reply("Done.")]
    async with start_proxy(*script, strategy=strategy) as proxy:
        await proxy.post(body(stream=stream), authorization=f"Bearer {PREFIX}1")
        asked["messages"] += told
        for last in "12":
            await proxy.post(dumps(asked), authorization=f"Bearer {PREFIX}{last}")

    mine, theirs = (received.body for received in proxy.upstream.received[1:])
    assert b"Mallory" in mine
    assert b"Mallory" not in theirs


GOOD = '{"id":"x","type":"function","function":{"name":"a","arguments":"{}"}}'
BAD = {
    "no JSON": "\0",
    "another shape": "[]",
    "numbers that are none": '{"spoken":NaN}',
    "too deep": '{"exchanges":' + "[" * 100_000,
    "fewer answers than calls": '{"exchanges":[{"said":{},"calls":[' + GOOD + '],"answers":[]}]}',
    "a call of nothing": '{"exchanges":[{"said":{},"calls":[{}],"answers":[{"kind":"found"}]}]}',
    "a call without an id": '{"mixed":{"said":{},"calls":[{}],"answers":[null]}}',
    "a round without calls": '{"exchanges":[{"said":{},"calls":[],"answers":[]}]}',
    "another role": '{"exchanges":[{"said":{"role":"system"},"calls":['
    + GOOD
    + '],"answers":[{"kind":"found"}]}]}',
}


@pytest.mark.parametrize("strategy", ["promote", "wrap"])
@pytest.mark.parametrize("raw", BAD.values(), ids=BAD)
def test_a_record_that_is_none_is_a_miss(strategy: str, raw: str) -> None:
    record = load(raw.encode())
    one = call("c1", "get_weather", {"city": "Oslo"})
    asked = {"role": "assistant", "content": None, "tool_calls": [one]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "rain"}
    messages = [{"role": "user", "content": "q"}, asked, result]
    more: Json = {"messages": messages, "policy": {"strategy": strategy}}
    key = Conversation.read(dumps(messages)).keys[1] or ""
    without = play(reply("ok"), **more)
    found = play(reply("ok"), records={key: record} if record else {}, **more)
    assert found.bodies == without.bodies


def test_a_tool_that_was_shown_and_is_hidden_now_is_not_named() -> None:
    """The search that shows a tool before a wrong call is made again is our own writing."""
    app = App({}, strategy="wrap")
    app.ask("q", reply(wrapped("w1", "stripe__refund_payment", {"x": 1})), reply("Not now."))
    app.policy["hidden"] = ("stripe__*",)
    assert "stripe__" not in json.dumps(app.ask("Next", reply("Ok.")).requests)


def test_where_nothing_is_deferred_any_more_no_search_is_told_of() -> None:
    app = App({})
    app.ask("q", reply(search("s1", "weather")), reply("Done."))
    app.policy["hidden"] = ("get*", "git*", "stripe*", "crm*", "vault*")
    is_valid(app.ask("Next", reply("Ok.")).requests[0])


async def test_what_one_request_asks_for_is_in_no_other() -> None:
    """Settings of one request never stick to the next."""
    async with start_proxy(reply("ok")) as proxy:
        await proxy.post(body(dry_multiplier=0.8, logit_bias={"1": 2}, user="one"))
        await proxy.post(body())

    first, second = proxy.upstream.requests
    assert first.keys() - second.keys() == {"dry_multiplier", "logit_bias", "user"}


async def sessions(store: MemoryStore, count: int, wide: str = "") -> None:
    record = Record([shown(["get_weather"], b"x")], ["get_weather"])
    for n in range(count):
        headers = [(b"authorization", b"Bearer %d" % (n % 1_000))]
        await Memory(store, headers).remember(f"call:{n}{wide}", record)


async def test_very_many_sessions_take_no_more_entries_than_allowed() -> None:
    store = MemoryStore(10**9, 500, 60)
    await sessions(store, 50_000)
    assert len(store) == 500


@pytest.mark.parametrize("wide", ["", "x" * 10_000], ids=["short ids", "long ids"])
async def test_very_many_sessions_take_no_more_memory_than_allowed(wide: str) -> None:
    """Whatever an upstream calls its calls: an id is part of what is kept."""
    most = 2 * 10**6
    store = MemoryStore(most, 10**9, 60)
    tracemalloc.start()
    try:
        await sessions(store, 10_000, wide)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 2 * most
