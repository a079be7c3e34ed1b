"""A conversation of many turns: what the upstream sees next begins with what it has seen."""

import json
from itertools import pairwise

import pytest

from app.core.body import Body
from tests.client import TURNS, Client, is_valid
from tests.player import Framing, Records, buffered, in_pieces


def opened(array: bytes | None) -> bytes:
    """An array without its end, to which more may be added."""
    assert array is not None
    return array.rstrip()[:-1]


def continues(later: bytes, earlier: bytes) -> None:
    """What is sent later begins with what was sent before: tools, then messages."""
    one, other = Body(earlier), Body(later)
    assert opened(other.get("tools")).startswith(opened(one.get("tools")))
    assert opened(other.get("messages")).startswith(opened(one.get("messages")))


FRAMINGS = {"buffered": buffered, "streamed": in_pieces(3)}
STRATEGIES = ["promote", "wrap"]


@pytest.mark.parametrize("framing", FRAMINGS.values(), ids=FRAMINGS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_request_begins_with_the_one_before_it(strategy: str, framing: Framing) -> None:
    client = Client(strategy, framing, {})
    sent: list[bytes] = []
    for number, replies in enumerate(TURNS):
        sent += client.turn(number, replies).bodies
    assert len(sent) > len(TURNS)
    played_again = 0
    for earlier, later in pairwise(sent):
        played_again += Body(later).get("messages") == Body(earlier).get("messages")
        continues(later, earlier)
    assert played_again == (strategy == "promote")  # with `wrap` behind an exchange


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_with_wrap_the_tools_are_the_same_bytes_for_ever(strategy: str) -> None:
    client = Client(strategy, buffered, {})
    bodies = [b for n, turn in enumerate(TURNS) for b in client.turn(n, turn).bodies]
    assert (len({Body(body).get("tools") for body in bodies}) == 1) is (strategy == "wrap")


@pytest.mark.parametrize("framing", FRAMINGS.values(), ids=FRAMINGS)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("lost_at", range(1, len(TURNS)))
def test_a_conversation_goes_on_when_all_is_forgotten(
    strategy: str, framing: Framing, lost_at: int
) -> None:
    records: Records = {}
    client = Client(strategy, framing, records)
    for number, replies in enumerate(TURNS):
        if number == lost_at:
            records.clear()
        played = client.turn(number, replies)
        for request in played.requests:
            is_valid(request)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_without_any_memory_every_request_is_valid(strategy: str) -> None:
    client = Client(strategy, buffered, None)
    for number, replies in enumerate(TURNS):
        for request in client.turn(number, replies).requests:
            is_valid(request)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_two_replicas_write_the_same_bytes(strategy: str) -> None:
    records: Records = {}
    client = Client(strategy, buffered, records)
    for number, replies in enumerate(TURNS[:6]):
        client.turn(number, replies)
    copies = [dict(records), {k: r for k, r in reversed(records.items())}]
    bodies = []
    for copy in copies:
        other = Client(strategy, buffered, copy)
        other.messages = json.loads(json.dumps(client.messages))
        bodies.append(other.turn(6, TURNS[6]).bodies)
    assert bodies[0] == bodies[1]
