"""Hidden is hidden: no byte that Toolfold sends either way names a tool that the policy
hides, but for what the client's own messages and the model's own words say."""

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.catalog import compile_catalog
from app.core.codec import Json
from app.core.errors import BadRequest, Refused
from app.core.exposure import rule
from app.core.policy import Policy
from app.core.wording import UNKNOWN
from tests.builders import CATALOG, body, call, dumps, reply, search, tool
from tests.conftest import start_proxy
from tests.core.test_plan import allowed, named
from tests.player import Played, Records, buffered, in_pieces, play
from tests.scripts import wrapped
from tests.upstream import Raw

SECRET = "vault__open_door"
TOOLS = [*CATALOG, tool("think"), tool(SECRET, "Open the door of the vault.", door="string")]
HIDING: dict[str, Any] = {"hidden": ("vault__*",)}


def told(played: Played) -> str:
    return json.dumps(played.visible) + repr(played.failure)


def sent(played: Played) -> str:
    return b"".join(played.bodies).decode()


# -- any catalog, any policy, any words of a model ----------------------------------------

IDS = [f"{letter}{letter.upper()}9" for letter in "bcdfghjkmnpqrstvwxz"]
"""No name is a part of another, and none is a word that we use."""
PREFIXES = ["ops__", "ops__", "ops__", "ask_", "mcp__hub__", "", "hub.", "one_", "tool_search_"]
NAMES = st.lists(st.sampled_from(IDS), min_size=1, max_size=12, unique=True).flatmap(
    lambda ids: st.tuples(*(st.sampled_from([p + one for p in PREFIXES]) for one in ids))
)
PATTERNS = st.lists(
    st.sampled_from(
        [
            "ops__*",
            "family:ops",
            "family:hub",
            "*B9",
            "*c*",
            "ask_*",
            "*",
            "hub.*",
            "tool_*",
            "one_*",
        ]
    ),
    max_size=3,
).map(tuple)
EXPOSURES = st.sampled_from(["deferred", "direct", "hidden"])
POLICIES = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(["on", "auto", "off"]),
        "strategy": st.sampled_from(["promote", "wrap"]),
        "default_exposure": EXPOSURES,
        "direct": PATTERNS,
        "deferred": PATTERNS,
        "hidden": PATTERNS,
        "admit_bridge": st.booleans(),
        "manifest_tokens": st.sampled_from([0, 60, 4_000]),
        "manifest_place": st.sampled_from(["auto", "system"]),
        "limit": st.sampled_from([1, 20]),
    }
)
STEPS = st.lists(
    st.sampled_from(["search", "words", "shown", "nonsense", "alias", "wrapped", "unread"]),
    max_size=4,
)


def step(kind: str, at: int, visible: list[str]) -> Json:
    """What a model that knows only what it has been shown may say."""
    one = visible[at % len(visible)] if visible else "nothing"
    match kind:
        case "search":
            return reply(search(f"s{at}", "does it", "ops hub one ask"))
        case "shown":
            return reply(call(f"c{at}", one, {}))
        case "alias":
            return reply(call(f"c{at}", f"functions.{one.upper()}", {"x": 1}))
        case "wrapped":
            return reply(wrapped(f"c{at}", one, {}))
        case "unread":
            return reply(call(f"c{at}", "tool_search", "{"))
        case "nonsense":
            return reply(call(f"c{at}", "ops__does_not_exist", {}))
    return reply("Well.")


@settings(max_examples=150)
@given(
    names=NAMES,
    policy=POLICIES,
    steps=STEPS,
    streamed=st.booleans(),
    choice=st.sampled_from(["auto", "required", "none", "allowed", None]),
    marked=st.booleans(),
)
def test_no_byte_names_a_hidden_tool(
    names: tuple[str, ...],
    policy: dict[str, Any],
    steps: list[str],
    streamed: bool,
    choice: str | None,
    marked: bool,
) -> None:
    tools = [tool(name, "Does it.", key="string") for name in names]
    if marked:
        tools[-1]["defer_loading"] = True
    catalog = compile_catalog(dumps(tools), len)
    chosen = Policy(**policy)
    hidden = [
        one.name
        for one, family in zip(catalog.tools, catalog.families, strict=True)
        if rule(chosen, one, family.name if family else None).exposure == "hidden"
    ]
    if not hidden:
        return
    visible = [name for name in names if name not in hidden]
    asked: Any = allowed(*names) if choice == "allowed" else choice
    members: dict[str, Any] = {} if asked is None else {"tool_choice": asked}
    script = [*(step(kind, at, visible) for at, kind in enumerate(steps)), reply("Done.")]
    played = play(
        *script,
        framing=in_pieces(2) if streamed else buffered,
        tools=tools,
        policy=policy,
        records={},
        messages=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Go."}],
        **members,
    )
    for name in hidden:
        assert name not in sent(played)
        assert name not in told(played)


# -- attacks ---------------------------------------------------------------------------------

SPELLINGS = [SECRET, "vault__Open-Door", "VAULT__OPEN_DOOR", "open_door", "vault.open_door"]
SPELLINGS += ["functions.vault__open_door", "tools/open_door", "vaultOpenDoor"]
WAYS: list[tuple[str, str, Callable[..., Json]]] = [
    *(("promote", "on", call), ("wrap", "on", call), ("promote", "off", call)),
    ("wrap", "on", wrapped),
]


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize(("strategy", "mode", "make"), WAYS)
def test_a_call_of_a_hidden_tool_never_leaves(
    name: str, strategy: str, mode: str, make: Callable[..., Json]
) -> None:
    """Neither alone and for ever, nor beside a call that is for the client."""
    made = make("c1", name, {"door": "1"})
    chosen = {**HIDING, "strategy": strategy, "mode": mode}
    alone = play(reply(made), tools=TOOLS, policy=chosen)
    assert alone.calls == []
    beside = play(reply(call("c0", "think", {}), made), tools=TOOLS, policy=chosen)
    assert [name for _, name, _ in beside.calls] == ["think"]


@pytest.mark.parametrize("strategy", ["promote", "wrap"])
def test_it_is_answered_like_any_name_that_there_is_not(strategy: str) -> None:
    def answer(name: str) -> str:
        made = play(
            reply(call("c1", name, {})),
            reply("Done."),
            tools=TOOLS,
            policy={**HIDING, "strategy": strategy},
        )
        content: str = made.requests[1]["messages"][-1]["content"]
        return content.replace(name, "X")

    assert answer("vault__open_door") == answer("vault__shut_door")
    assert answer("vault__open_door").startswith(UNKNOWN.format(name="X"))


QUERIES = [SECRET, f"select:{SECRET}", "vault", "open the door of the vault", "door"]


@pytest.mark.parametrize("strategy", ["promote", "wrap"])
@pytest.mark.parametrize("query", QUERIES)
def test_no_search_finds_it(query: str, strategy: str) -> None:
    played = play(
        reply(search("s1", query)),
        reply("Done."),
        tools=TOOLS,
        policy={**HIDING, "strategy": strategy},
    )
    found = json.loads(played.requests[1]["messages"][-1]["content"])
    assert SECRET not in [one["name"] for one in found["tools"]]
    assert "Open the door" not in sent(played)
    assert SECRET not in played.tools(1)


def test_no_close_name_is_it() -> None:
    played = play(
        reply(call("c1", "vault__open_doors", {})), reply("Done."), tools=TOOLS, policy=HIDING
    )
    assert SECRET not in sent(played).replace("vault__open_doors", "")


def test_the_history_does_not_bring_it_back() -> None:
    history = [
        {"role": "user", "content": "Open."},
        {"role": "assistant", "content": None, "tool_calls": [call("c1", SECRET, {"door": "1"})]},
        {"role": "tool", "tool_call_id": "c1", "content": "Open."},
    ]
    for strategy in ("promote", "wrap"):
        played = play(
            reply("Ok."), tools=TOOLS, policy={**HIDING, "strategy": strategy}, messages=history
        )
        assert SECRET not in played.tools(0)
        assert "Open the door" not in sent(played)


def converse(before: dict[str, Any], *script: Json, strategy: str) -> str:
    """A turn under one policy, and what the upstream gets in the next one, which hides."""
    records: Records = {}
    asked: Any = [{"role": "user", "content": "Go."}]
    first = play(
        *script,
        tools=TOOLS,
        policy={**before, "strategy": strategy},
        records=records,
        messages=asked,
    )
    assert records, "the turn is remembered"
    later = [*asked, first.message, {"role": "user", "content": "And?"}]
    assert SECRET not in json.dumps(later)
    return sent(
        play(
            reply("Ok."),
            tools=TOOLS,
            policy={**HIDING, "strategy": strategy},
            records=records,
            messages=later,
        )
    )


@pytest.mark.parametrize("strategy", ["promote", "wrap"])
def test_an_exchange_that_found_it_does_not_name_it_any_more(strategy: str) -> None:
    script = [reply(search("s1", "open the door of the vault")), reply("Not now.")]
    assert SECRET not in converse({}, *script, strategy=strategy)


def test_an_exchange_that_told_that_it_is_direct_is_left_out() -> None:
    script = [reply(wrapped("c1", SECRET, {"door": "1"})), reply("Not now.")]
    assert SECRET not in converse({"direct": ("vault__*",)}, *script, strategy="wrap")


def test_a_refusal_that_names_it_does_not_declare_it() -> None:
    refusal = Refused(400, dumps({"error": {"message": f"tool {SECRET} was not declared"}}))
    played = play(refusal, tools=TOOLS, policy=HIDING)
    assert played.failure is refusal
    assert SECRET not in sent(played)


TOOL_SEARCH = tool("tool_search", "Run any command.", command="string")


@pytest.mark.parametrize("strategy", ["promote", "wrap"])
def test_seeds_a_real_tool_that_is_called_like_the_bridge_is_not_let_in_with_it(
    strategy: str,
) -> None:
    """The seeds: an exemption of the bridge by its name lets a real tool of that name slip by
    where the list of tools is stale. Here the bridge is admitted by a switch, and a tool of
    the client's by its own rule."""
    closed = {
        "default_exposure": "hidden",
        "admit_bridge": True,
        "deferred": ("crm__*",),
        "strategy": strategy,
    }
    played = play(
        reply(call("c1", "tool_search", {"command": "rm"})),
        tools=[*CATALOG, TOOL_SEARCH],
        policy=closed,
    )
    assert "toolfold_tool_search" in played.tools(0)
    assert "tool_search" not in played.tools(0)
    assert "Run any command" not in sent(played)
    assert played.calls == []


def test_seeds_a_pattern_does_not_admit_the_bridge() -> None:
    closed = {
        "default_exposure": "hidden",
        "direct": ("tool_search", "think"),
        "deferred": ("crm__*",),
    }
    played = play(reply("Ok."), tools=TOOLS, policy=closed)
    assert "tool_search" not in played.tools(0)
    assert "crm__read_deal" in played.tools(0)


def test_a_policy_that_hides_the_bridge_declares_none() -> None:
    played = play(
        reply(search("s1", "deal")),
        reply("Ok."),
        tools=TOOLS,
        policy={"hidden": ("tool_*", "vault__*")},
    )
    assert not [name for name in played.tools(0) if "tool_search" in name]
    assert "crm__read_deal" in played.tools(0)


# -- the edge ----------------------------------------------------------------------------------

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


def test_a_tool_twice_is_said_without_its_name() -> None:
    with pytest.raises(BadRequest) as caught:
        play(reply("x"), tools=[*TOOLS, TOOLS[-1]], policy=HIDING)
    assert "vault" not in caught.value.message


def test_the_tests_above_look_for_what_is_there_without_the_policy() -> None:
    played = play(reply(call("c1", SECRET, {"door": "1"})), tools=TOOLS)
    assert SECRET in sent(played)
    assert SECRET in told(played)
