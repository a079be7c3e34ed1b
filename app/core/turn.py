"""One client request, answered by one or more upstream rounds. No I/O.

The driver alternates two things until `next_request()` returns None:

1. send `next_request()` upstream and pass what comes to `receive()`, which returns what
   the client may see; a round that fails goes to `fail()`;
2. rank each of `searches()` and hand the rankings to `answer()`.

A round ends in one of three ways. Calls for the client, or words alone, end the turn.
Searches alone go on: the client sees nothing of them. A call of a tool that the model has
not seen in full, with arguments that do not fit, is played again with the tool declared.
"""

import re
from collections.abc import Sequence
from typing import Literal

from app.core import search as searching
from app.core.calls import Call
from app.core.chunks import DONE, Chunk
from app.core.codec import Json, decode
from app.core.errors import Broken, Refused, UpstreamFailed
from app.core.plan import Fold
from app.core.policy import Policy
from app.core.reply import Reply
from app.core.round import Addressee, Round
from app.core.schema import fault
from app.core.search import Rankings, Search
from app.core.tools import Tool

_MOST_UNKNOWN = 2
"""Rounds in which a name that means no tool is answered in words."""
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_WORD = re.compile(r"[\w.-]+")

Outcome = Literal["end", "continue", "again"]


class Turn:
    """The state of one client request."""

    def __init__(self, fold: Fold, policy: Policy) -> None:
        self.rounds = 0
        self.searched = 0
        """Searches answered with a ranking."""
        self.status_is_spent = False
        """The client has its 200: set by the edge. From then on a hidden round that fails
        is tried once more, since its status cannot be passed on."""
        self._fold = fold
        self._policy = policy
        self._reply = Reply()
        self._round: Round | None = None
        self._outcome: Outcome | None = None
        self._promoted = list(fold.promoted)
        self._exchanges: list[Json] = []
        self._answers: dict[Call, str] = {}
        self._spent = 0
        self._unknown_rounds = 0
        self._asked_again = False
        self._exhausted = False
        self._replayed = False
        self._retried = False

    # -- upstream ---------------------------------------------------------

    def next_request(self) -> bytes | None:
        """The body of the next round, None when the turn is over. Raises Broken: the last
        round was cut off."""
        if self._round is not None:
            self._close(self._round)
            if self._outcome == "end":
                return None
        self._round = Round(self._addressee)
        self._outcome = None
        self._answers = {}
        self.rounds += 1
        required = self._fold.choice.required
        return self._fold.request(
            self._promoted,
            self._exchanges,
            searching=not (self._exhausted and required),
            calling=not self._exhausted or required,
            spent=self._spent,
        )

    def receive(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """What the client may see of what has just come."""
        assert self._round is not None, "a round has begun"
        return [told for chunk in chunks for told in self._take(self._round, chunk)]

    def fail(self, failure: UpstreamFailed) -> None:
        """A round did not come to its end. Raises the failure unless the turn can go on."""
        if isinstance(failure, Refused) and (tools := self._undeclared(failure)):
            self._play_again(tools)
        elif self.status_is_spent and self.rounds > 1 and self._may_retry():
            self._retried = True
            self._outcome = "again"
        else:
            raise failure

    # -- searches ---------------------------------------------------------

    def searches(self) -> list[Search]:
        """The searches of this round that want a ranking."""
        if self._round is None or self._outcome != "continue":
            return []
        wanted: list[Search] = []
        for call in self._round.addressed("search"):
            search = searching.read_search(call)
            if self.searched + len(wanted) >= self._policy.max_searches:
                self._answers[call] = searching.no_more_searches()
                self._asked_again = True
            elif not search.queries:
                self.searched += 1
                self._answers[call] = searching.how_to_search(self._fold.shape)
            else:
                wanted.append(search)
        return wanted

    def answer(self, search: Search, rankings: Rankings) -> None:
        """Put the hits into the conversation and declare them."""
        policy, fold = self._policy, self._fold
        budget = (policy.result_tokens, self._cost)
        found = searching.find(rankings, search, fold.admits, budget, policy.limit)
        self.searched += 1
        last = self.searched >= policy.max_searches
        self._answers[search.call] = searching.answer(found, last=last)
        self._promote(found.tools)

    # -- inside a round -----------------------------------------------------

    def _take(self, round: Round, chunk: Chunk) -> list[Chunk]:
        if not chunk.data and chunk is not DONE:
            # A comment: only a client that has its 200 can be shown it.
            return [chunk] if self.status_is_spent else []
        if self._reply.takes_words and round.read_words(chunk):
            return [chunk]
        round.read(chunk)
        if round.is_over and self._outcome is None:
            self._outcome = self._judge(round)
        hidden = self._outcome in ("continue", "again")
        dropped = bool(round.calls.all) and not any(round.leaves.values())
        told = [
            visible
            for entry in round.ready()
            for visible in self._reply.tell(entry, round.leaves, hidden=hidden, dropped=dropped)
        ]
        if self._outcome == "end":
            told += self._reply.rest()
            told += [DONE] if chunk is DONE else []
        return told

    def _addressee(self, call: Call) -> Addressee:
        name = call.name
        if call.kind == "function" and name == self._fold.bridge_name:
            return "search"
        if name in self._promoted or self._fold.shape.names.get(name) == "direct":
            return "client"
        if self._fold.admits(name) is not None:
            return "blind" if call.kind == "function" else "client"
        if self._meant(call) is not None:
            return "alias"
        return "hidden" if self._fold.shape.names.get(name) == "hidden" else "unknown"

    def _judge(self, round: Round) -> Outcome:
        """All has arrived: decide the calls that were open, and how the turn goes on."""
        mended = [tool for call in round.calls.all if (tool := self._mended(call))]
        if mended and not self._reply.told and not self._replayed:
            self._hide_all(round)
            self._play_again(mended)
            return "again"
        for call in round.addressed("blind", "alias"):
            round.leaves[call] = True
        outcome = self._judge_unknown(round)
        if outcome == "end":
            round.finish()
        return outcome

    def _judge_unknown(self, round: Round) -> Outcome:
        """Names that mean nothing are answered in words while nothing leaves, twice at most;
        then they leave as they are. A hidden tool never does."""
        unknown = round.addressed("unknown", "hidden")
        leaving = any(round.leaves.values())
        answered = bool(unknown) and not leaving and not self._exhausted
        spared = self._unknown_rounds < _MOST_UNKNOWN
        for call in unknown:
            round.leaves[call] = not (answered and spared) and self._addressee(call) == "unknown"
        if any(round.leaves.values()) or not round.calls.all or self._exhausted:
            return "end"
        if unknown:
            self._unknown_rounds += 1
            self._exhausted = not spared
            self._answers = {call: self._unknown_answer(call) for call in unknown}
        return "continue"

    def _hide_all(self, round: Round) -> None:
        for call in round.calls.all:
            round.leaves[call] = False

    def _mended(self, call: Call) -> Tool | None:
        """The deferred tool that a call needs to be declared before it can be right."""
        match self._addressee(call):
            case "blind":
                tool = self._fold.admits(call.name)
                return tool if tool and fault(tool.parameters, call.arguments) else None
            case "alias":
                return self._meant(call)
            case _:
                return None

    def _meant(self, call: Call) -> Tool | None:
        meant = self._fold.shape.catalog.meant(call.name, self._fold.knows)
        return meant if meant and meant.name in self._fold.shape.deferred else None

    # -- between rounds -----------------------------------------------------

    def _close(self, round: Round) -> None:
        if self._outcome is None:
            self.fail(Broken("The upstream ended its reply before it was complete."))
        if self._outcome == "continue":
            self._exchanges += self._exchange(round)
            self._spent += _tokens_of_words(round)
            self._exhausted = self._exhausted or self._asked_again
            self._replayed = False
        repeat = round.text if self._outcome == "again" else ""
        self._reply.next_round(round.usage, repeat)

    def _exchange(self, round: Round) -> list[Json]:
        calls, answers = [], []
        for position, call in enumerate(round.calls.all):
            message = call.as_message()
            message["id"] = message["id"] or f"call_{position}"
            if self._addressee(call) in ("unknown", "hidden"):
                legal = _ILLEGAL.sub("_", call.name)[:64] or "_"
                message[call.kind] = {**message[call.kind], "name": legal}
            calls.append(message)
            answers.append(
                {"role": "tool", "tool_call_id": message["id"], "content": self._answers[call]}
            )
        return [round.assistant(calls), *answers]

    def _unknown_answer(self, call: Call) -> str:
        fold = self._fold
        bridge = fold.bridge_name if fold.shape.deferred else ""
        return searching.unknown(call.name, fold.shape, fold.knows, bridge)

    def _play_again(self, tools: Sequence[Tool]) -> None:
        self._replayed = True
        self._outcome = "again"
        self._promote(tools)

    def _promote(self, tools: Sequence[Tool]) -> None:
        """Declare these too; where an upstream takes no more, the oldest of this turn go."""
        self._promoted += [t.name for t in tools if t.name not in self._promoted]
        room = max(self._fold.max_tools - len(self._fold.shape.direct) - 1, len(tools))
        start = len(self._fold.promoted)
        del self._promoted[start : max(len(self._promoted) - room + start, start)]

    def _cost(self, tool: Tool) -> int:
        return 0 if tool.name in self._promoted else self._fold.shape.tokens(tool)

    def _may_retry(self) -> bool:
        return not self._retried and not self._reply.told

    def _undeclared(self, refusal: Refused) -> list[Tool]:
        """The deferred tools that a refusal names: some servers refuse their own model's
        call of a tool that was not declared (Groq's `tool_use_failed`)."""
        if self._replayed or self._reply.begun or not 400 <= refusal.status < 500:
            return []
        words = dict.fromkeys(_WORD.findall(_error_text(refusal.body)))
        found = (self._fold.admits(word.strip(".")) for word in words)
        return [tool for tool in found if tool and tool.name not in self._promoted]


def _tokens_of_words(round: Round) -> int:
    """Completion tokens of what a hidden round said to the client. Searches are our expense,
    not the client's; where the upstream reports no usage, four characters are a token."""
    if not round.text:
        return 0
    reported = (round.usage or {}).get("completion_tokens")
    return reported if isinstance(reported, int) else len(round.text) // 4


def _error_text(body: bytes) -> str:
    try:
        error = decode(body)["error"]
    except (ValueError, KeyError, TypeError):
        return ""
    if not isinstance(error, dict):
        return ""
    return f"{error.get('message')} {error.get('failed_generation')}"
