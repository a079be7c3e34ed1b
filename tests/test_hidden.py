"""Hidden is hidden: no byte that Toolfold sends either way names a tool that the policy
hides, but for what the client's own messages and the model's own words say."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from app.core.codec import Json
from app.core.errors import BadRequest, Refused
from app.core.wording import UNKNOWN
from tests.builders import CATALOG, call, dumps, reply, search, tool
from tests.player import Played, Records, play
from tests.scripts import wrapped

SECRET = "vault__open_door"
TOOLS = [*CATALOG, tool("think"), tool(SECRET, "Open the door of the vault.", door="string")]
HIDING: dict[str, Any] = {"hidden": ("vault__*",)}


def told(played: Played) -> str:
    return json.dumps(played.visible) + repr(played.failure)


def sent(played: Played) -> str:
    return b"".join(played.bodies).decode()


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
    def answer(tools: list[Json]) -> str:
        script = (reply(call("c1", SECRET, {})), reply("Done."))
        made = play(*script, tools=tools, policy={**HIDING, "strategy": strategy})
        content: str = made.requests[1]["messages"][-1]["content"]
        return content

    without = [one for one in TOOLS if one["function"]["name"] != SECRET]
    assert answer(TOOLS) == answer(without)
    assert answer(TOOLS).startswith(UNKNOWN.format(name=SECRET))


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


def test_a_tool_twice_is_said_without_its_name() -> None:
    with pytest.raises(BadRequest) as caught:
        play(reply("x"), tools=[*TOOLS, TOOLS[-1]], policy=HIDING)
    assert "vault" not in caught.value.message


def test_the_tests_above_look_for_what_is_there_without_the_policy() -> None:
    played = play(reply(call("c1", SECRET, {"door": "1"})), tools=TOOLS)
    assert SECRET in sent(played)
    assert SECRET in told(played)
