"""The loop exists once: whatever the framing, both sides are told the same."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.codec import Json
from tests.builders import streamed
from tests.player import Framing, Played, buffered, in_pieces, play
from tests.scripts import SCRIPTS, Script

NAMED = [pytest.param(script, id=name) for name, script in SCRIPTS.items()]


def played(script: Script, framing: Framing) -> Played:
    replies, setup = script
    return play(*replies, framing=framing, **setup)


def same(one: Played, other: Played) -> None:
    assert one.said() == other.said()
    assert one.requests == other.requests


def custom_streamed(completion: Json, cut: int) -> list[Json]:
    """Custom calls come whole: the builder streams functions."""
    calls = completion["choices"][0]["message"].get("tool_calls", [])
    if any(call["type"] == "custom" for call in calls):
        return buffered(completion)
    return list(streamed(completion, cut))


def late_names(completion: Json) -> list[Json]:
    """A server that sends the id first and the name with the first arguments."""
    chunks = []
    for chunk in custom_streamed(completion, 4):
        fragments = chunk["choices"][0]["delta"].get("tool_calls", []) if chunk["choices"] else []
        if fragments and fragments[0].get("id") and "function" in fragments[0]:
            name = fragments[0]["function"].pop("name")
            chunks.append(chunk)
            late = {"index": fragments[0]["index"], "function": {"name": name}}
            choice = {**chunk["choices"][0], "delta": {"tool_calls": [late]}}
            chunks.append({**chunk, "choices": [choice]})
        else:
            chunks.append(chunk)
    return chunks


def all_at_index_0(completion: Json) -> list[Json]:
    """A server that numbers every call 0."""
    chunks = custom_streamed(completion, 5)
    for chunk in chunks:
        for choice in chunk["choices"]:
            for fragment in choice["delta"].get("tool_calls", []):
                fragment["index"] = 0
    return chunks


def names_repeated(completion: Json) -> list[Json]:
    """A server that sends id and name with every piece."""
    known: dict[int, tuple[str, str]] = {}
    chunks = custom_streamed(completion, 6)
    for chunk in chunks:
        for choice in chunk["choices"]:
            for fragment in choice["delta"].get("tool_calls", []):
                if "custom" in fragment:
                    continue
                function = fragment["function"]
                identity = known.setdefault(
                    fragment["index"], (fragment.get("id", ""), function.get("name", ""))
                )
                fragment["id"], function["name"] = identity
    return chunks


FRAMINGS: dict[str, Framing] = {
    "names late": late_names,
    "all at index 0": all_at_index_0,
    "names repeated": names_repeated,
    "characters": lambda completion: custom_streamed(completion, 1),
    "whole calls": lambda completion: custom_streamed(completion, 10_000),
}


@pytest.mark.parametrize("framing", FRAMINGS.values(), ids=FRAMINGS)
@pytest.mark.parametrize("script", NAMED)
def test_every_framing_says_the_same(script: Script, framing: Framing) -> None:
    same(played(script, buffered), played(script, framing))


@given(st.sampled_from(list(SCRIPTS)), st.integers(1, 40))
def test_where_a_stream_is_cut_does_not_matter(name: str, cut: int) -> None:
    script = SCRIPTS[name]
    same(played(script, buffered), played(script, lambda c: custom_streamed(c, cut)))


@pytest.mark.parametrize("framing", [buffered, in_pieces(3)], ids=["buffered", "streamed"])
@pytest.mark.parametrize("script", NAMED)
def test_nothing_of_ours_reaches_the_client(script: Script, framing: Framing) -> None:
    if framing is not buffered and "custom" in str(script):
        framing = buffered
    told = str(played(script, framing).visible)
    assert "tool_search" not in told
    assert "'s1'" not in told


READABLE = [
    param
    for param in NAMED
    if not any(
        word in str(param.id) for word in ("unknown", "hidden", "cannot", "never be", "direct")
    )
]
"""A model that only writes text can write names and arguments that make no call of it."""
DIALECTS = ["json_tag", "pformat"]


def spoken(script: Script, dialect: str) -> Script:
    replies, setup = script
    return replies, {**setup, "policy": {**setup.get("policy", {}), "dialect": dialect}}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("script", NAMED)
def test_every_framing_says_the_same_in_a_dialect(script: Script, dialect: str) -> None:
    whole = played(spoken(script, dialect), buffered)
    for cut in (1, 3, 7, 10_000):
        same(whole, played(spoken(script, dialect), in_pieces(cut)))


def made(result: Played) -> list[object]:
    """The calls that the client got, but for their ids and white space."""
    inner = [(call, call[call["type"]]) for call in result.message.get("tool_calls") or []]
    return [
        (one["name"], json.loads(one["arguments"]) if "arguments" in one else one["input"])
        for _, one in inner
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("framing", [buffered, in_pieces(3)], ids=["buffered", "streamed"])
@pytest.mark.parametrize("script", READABLE)
def test_a_dialect_says_what_native_says(script: Script, framing: Framing, dialect: str) -> None:
    """The same calls, words and usage; the ids are made here. Nothing of ours leaves."""
    if dialect == "pformat" and any("town" in str(reply) for reply in script[0]):
        pytest.skip("a position has no name that could be wrong")
    native, other = played(script, buffered), played(spoken(script, dialect), framing)
    assert made(other) == made(native)
    assert (other.message.get("content") or "").split() == (
        native.message.get("content") or ""
    ).split()
    assert (other.finish, other.said()["usage"]) == (native.finish, native.said()["usage"])
    assert "tool_search" not in str(other.visible)
    assert "tool_call>" not in str(other.visible)


def test_a_stream_is_well_formed() -> None:
    """One id, one role and first, one finish and last, indexes without gaps, usage at the end."""
    for name, script in SCRIPTS.items():
        result = played(script, lambda c: custom_streamed(c, 3))
        chunks = result.visible
        choices = [choice for chunk in chunks for choice in chunk["choices"]]
        assert len({chunk["id"] for chunk in chunks}) == 1, name
        assert len({chunk["created"] for chunk in chunks}) == 1, name
        roles = [at for at, choice in enumerate(choices) if choice["delta"].get("role")]
        assert roles == [0], name
        ends = [at for at, choice in enumerate(choices) if choice["finish_reason"]]
        assert ends == [len(choices) - 1], name
        usages = [at for at, chunk in enumerate(chunks) if chunk.get("usage")]
        assert usages == [len(chunks) - 1], name
        begun: list[str] = []
        for choice in choices:
            for fragment in choice["delta"].get("tool_calls", []):
                if fragment["index"] == len(begun):
                    begun.append(fragment["id"])
                assert fragment["index"] < len(begun), name
        assert len(set(begun)) == len(begun), name


def test_a_reply_that_needs_no_change_is_the_upstreams() -> None:
    replies, setup = SCRIPTS["words"]
    assert play(*replies, **setup).completion == replies[0]
