"""The states of a turn, drawn by playing one reply of each kind to the real `Turn`."""

from collections.abc import Sequence
from typing import NamedTuple, get_args

from app.core.address import Addressee
from app.core.chunks import DONE, Chunk, as_chunk
from app.core.codec import Json
from app.core.errors import Refused
from app.core.fold import Fold
from app.core.policy import Policy, Strategy
from app.core.turn import Outcome, Turn
from app.explain import explain
from tests.builders import CATALOG, body, call, dumps, reply, search


class Kind(NamedTuple):
    """What a round of the model may hold."""

    words: str
    said: Sequence[str | Json]
    to: Addressee | None
    """Whom its call is for, as the code names it."""
    strategy: Strategy = "promote"


_REFUND = {"payment": "p1", "cents": 5}
_WRAPPED = {"name": "stripe__refund_payment", "arguments": _REFUND}
KINDS = (
    Kind("words alone", ["Hello."], None),
    Kind("a call of a declared tool", [call("c", "get_weather", {"city": "Oslo"})], "client"),
    Kind("searches", [search("s", "refund")], "search"),
    Kind(
        "a search beside a call for the app",
        [search("s", "refund"), call("c", "get_weather", {"city": "Oslo"})],
        None,
    ),
    Kind("a listed tool, arguments fit", [call("c", "stripe__refund_payment", _REFUND)], "blind"),
    Kind("a listed tool, arguments do not fit", [call("c", "stripe__refund_payment")], None),
    Kind("a name that can mean one tool", [call("c", "Stripe.refund_payment", _REFUND)], "alias"),
    Kind("a name that means no tool", [call("c", "fly_to_the_moon")], "unknown"),
    Kind("a hidden tool", [call("c", "crm__read_deal", {"id": "1"})], "hidden"),
    Kind("call_tool, arguments fit", [call("c", "call_tool", _WRAPPED)], "wrapped", "wrap"),
    Kind(
        "call_tool of a declared tool",
        [call("c", "call_tool", {"name": "get_weather", "arguments": {"city": "Oslo"}})],
        "direct",
        "wrap",
    ),
    Kind("call_tool that cannot be read", [call("c", "call_tool", "{")], "unwrapped", "wrap"),
)
"""One for each addressee, and the kinds that are told apart later (a test holds this)."""

_STATES: dict[Outcome, str] = {
    "end": "the app has its words or its calls",
    "continue": "answered inside the turn, and what was found is there in the next round",
    "again": "played again, as if the tool had been declared from the start",
}
_PAGE = """\
# The states of a turn

Written by `make docs`: each arrow is a reply that was played to `app/core/turn.py`.

A turn is one request of the app and its one reply. A round is one request upstream. In the middle
stands what the model said in a round, on the right how the turn goes on.

```mermaid
flowchart LR
    request([the request, folded]) --> round{{{{round}}}}
{arrows}
{states}
    continue_ -.-> round
    again_ -.-> round
```

Caps: `max_searches` searches a turn; a call is played again once between two answers; a name
that means no tool is answered twice, and then leaves as it is. A hidden tool never leaves. A hidden
round that fails behind a stream that has begun is tried once more. Whatever the round held, calls
of declared tools leave at once, unchanged.
"""


def diagram() -> str:
    """The page."""
    said = [(kind.words, outcome(kind)) for kind in KINDS]
    said.append(("the upstream refuses a call of a listed tool", _refused()))
    said.sort(key=lambda one: get_args(Outcome).index(one[1]))
    arrows = [
        f"    round --> said_{at}[{words}] --> {state}_" for at, (words, state) in enumerate(said)
    ]
    states = [f'    {state}_(["{state}: {words}"])' for state, words in _STATES.items()]
    return _PAGE.format(arrows="\n".join(arrows), states="\n".join(states))


def outcome(kind: Kind) -> Outcome:
    """How the turn goes on behind a first round of this kind."""
    turn = _turn(kind.strategy)
    turn.receive([Chunk(as_chunk(reply(*kind.said))), DONE])
    assert turn._outcome is not None, kind
    return turn._outcome


def _refused() -> Outcome:
    turn = _turn("promote")
    text = "Tool choice: model called `stripe__refund_payment`, which is not in request.tools"
    turn.fail(Refused(400, dumps({"error": {"message": text, "code": "tool_use_failed"}})))
    assert turn._outcome is not None
    return turn._outcome


def _turn(strategy: Strategy) -> Turn:
    policy = Policy(
        mode="on", strategy=strategy, direct=("get_weather",), hidden=("crm__read_deal",)
    )
    plan = explain(body(CATALOG), policy, len).plan
    assert isinstance(plan, Fold), plan
    turn = Turn(plan, policy)
    turn.next_request()
    return turn
