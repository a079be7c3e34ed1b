"""One client request, answered by one or more upstream rounds. No I/O.

The driver alternates two things until `next_request()` returns None:

1. send `next_request()` upstream and pass what comes to `receive()`, which returns what
   the client may see; a round that fails goes to `fail()`;
2. as soon as a round is judged, rank each of its `searches()`, hand the rankings to
   `answer()`, and keep the `record()` of a turn that has ended.

A round ends in one of three ways. Calls for the client, or words alone, end the turn.
Searches alone go on: the client sees nothing of them. A call of a tool that the model has
not seen in full, with arguments that do not fit, is played again with the tool shown.
"""

from collections.abc import Sequence
from typing import Literal

from app.core import verdict
from app.core.address import Addressee, addressee, open_wrapped, relayed
from app.core.answer import Answer
from app.core.bill import Played
from app.core.calls import Call
from app.core.chunks import DONE, END, Chunk
from app.core.conversation import turn_key
from app.core.errors import Broken, Refused, UpstreamFailed
from app.core.exchange import Exchange
from app.core.fold import Fold
from app.core.hits import Ranked
from app.core.memory import Record
from app.core.mend import Mend
from app.core.policy import Policy
from app.core.refusal import refused
from app.core.remedy import sent
from app.core.reply import Reply, unrepeated
from app.core.round import Round
from app.core.search import Search, Searched, find, sorted_out
from app.core.tools import Tool

_MOST_UNKNOWN = 2
"""Rounds in which a call that nobody can run is answered in words."""

Outcome = Literal["end", "continue", "again"]


class Turn:
    """The state of one client request."""

    def __init__(self, fold: Fold, policy: Policy) -> None:
        self.rounds = 0
        self.searched = 0
        """Searches that were charged for."""
        self.answered: list[Searched] = []
        """Searches that were answered with a ranking."""
        self.played: list[Played] = []
        """The rounds that are over."""
        self.discoveries: list[verdict.Discovery] = []
        """The calls of deferred tools that the client got, once the turn has ended."""
        self.mend = Mend()
        """What its upstream's refusals have taught, and whether folding was given up."""
        self.status_is_spent = False
        """The client has its 200: set by the edge. A refusal cannot be passed on then."""
        self._fold = fold
        self._terms = fold.terms
        self._policy = policy
        self._reply = Reply()
        self._round: Round | None = None
        self._outcome: Outcome | None = None
        self._promoted = list(fold.promoted)
        self._exchanges: list[Exchange] = []
        self._answers: dict[Call, Answer] = {}
        self._told = ""
        """Words that the client was told before this round ..."""
        self._spoken = ""
        """... and of these, the words before the exchange that it goes on from."""
        self._repeat = ""
        self._spent = 0
        self._unknown_rounds = 0
        self._exhausted = False
        self._replayed = False
        self._retried = False
        self._is_recorded = False

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
        if self.mend.unfolded:
            return self._fold.unfolded()
        return self._fold.request(
            self._promoted,
            self._exchanges,
            searching=not (self._exhausted and self._terms.choice.required),
            calling=self._calling,
            spent=self._spent,
        )

    def receive(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """What the client may see of what has just come."""
        assert self._round is not None, "a round has begun"
        return [told for chunk in chunks for told in self._take(self._round, chunk)]

    def fail(self, failure: UpstreamFailed) -> None:
        """A round did not come to its end. Raises the failure unless the turn can go on: a
        hidden round whose status cannot be passed on, or has none, is tried once more."""
        refusal = refused(failure) if self._round and self._round.is_silent else None
        may_replay = not self._replayed and not self._reply.begun and not self.mend.unfolded
        tools = verdict.undeclared(refusal, self._terms, self._promoted) if refusal else []
        if tools and may_replay:
            self._play_again(tools)
        elif refusal and self._mended(refusal):
            self._outcome = "again"
        elif self._may_retry and (self.status_is_spent or isinstance(failure, Broken)):
            self._retried = True
            self._outcome = "again"
        else:
            raise failure

    # -- when a round is judged ---------------------------------------------

    def searches(self) -> list[Search]:
        """The searches of this round that want a ranking, each only once."""
        if self._round is None or self._outcome not in ("continue", "end"):
            return []
        calls = [call for call in self._round.addressed("search") if call not in self._answers]
        wanted, told = sorted_out(calls, self._policy.max_searches - self.searched)
        self._answers |= told
        self.searched += sum(answer.kind == "unread" for answer in told.values())
        return wanted

    def answer(self, search: Search, ranked: Ranked) -> None:
        """Put the hits into the conversation and, with `promote`, declare them."""
        last = self.searched + 1 >= self._policy.max_searches
        budget = (self._policy.result_tokens, self._cost)
        found = find(ranked, search, self._terms.admits, budget, self._policy.limit, last=last)
        self.searched += 1
        told = search.call.id, search.queries, found.names, found.unmatched, ranked
        self.answered.append(Searched(*told))
        self._answers[search.call] = found
        self._promoted = self._fold.promoting(self._promoted, found.names)

    def record(self) -> tuple[str, Record] | None:
        """What is to be remembered of a turn that has ended, once, under its key."""
        round = self._round
        if round is None or self._outcome != "end" or self._is_recorded or self.mend.unfolded:
            return None
        self._is_recorded = True
        self.discoveries = verdict.discoveries(self._fold, self._reply.told, self._exchanges)
        mixed = self._mixed(round)
        promoted = [name for name in self._promoted if name not in self._fold.promoted]
        first = next(iter(self._reply.told), None)
        said = "" if first else self._told + self._words(round)
        key = turn_key(self._fold.context, first.id if first else "", said)
        if key is None or not (self._exchanges or promoted or mixed):
            return None
        return key, Record(self._exchanges, promoted, self._spoken, mixed)

    # -- inside a round -----------------------------------------------------

    def _take(self, round: Round, chunk: Chunk) -> list[Chunk]:
        if self._outcome is not None:
            return []  # all has been said
        if self._reply.takes_words and round.read_words(chunk):
            return [chunk]
        if chunk is DONE or (chunk is END and round.has_finish):
            if not round.is_empty or self.rounds == 1:
                self._outcome = self._judge(round)
        elif chunk.data:
            round.read(chunk)
        elif chunk is not END:
            # A comment: only a client that has its 200 can be shown it.
            return [chunk] if self.status_is_spent else []
        hidden = self._outcome in ("continue", "again")
        told = [
            visible
            for entry in round.ready()
            for visible in self._reply.tell(entry, round.leaves, hidden=hidden)
        ]
        if self._outcome == "end":
            told += [*self._reply.rest(), DONE]
        return told

    def _addressee(self, call: Call) -> Addressee:
        whom = relayed if self.mend.unfolded else addressee
        return whom(call, self._terms, self._promoted)

    def _judge(self, round: Round) -> Outcome:
        """All has arrived: decide the calls that were open, and how the turn goes on."""
        round.end()
        self.mend.took(self._fold)
        for call in round.addressed("wrapped"):
            open_wrapped(call, self._terms)
        shown = [
            tool
            for call in round.calls.all
            if (tool := verdict.to_be_shown(call, self._addressee(call), self._terms))
        ]
        if shown and not self._reply.told and not self._replayed:
            round.leaves = dict.fromkeys(round.calls.all, False)
            round.close(hidden=True)
            self._play_again(shown)
            return "again"
        for call in round.addressed("blind", "alias"):
            round.leaves[call] = True
        outcome = self._judge_unknown(round)
        round.close(hidden=outcome != "end")
        return outcome

    def _judge_unknown(self, round: Round) -> Outcome:
        """Calls that nobody can run are answered in words while nothing leaves, twice at
        most; then they leave as they are. A hidden tool never does."""
        unknown = round.addressed("unknown", "hidden", "direct", "unwrapped")
        leaving = any(round.leaves.values())
        spared = self._unknown_rounds < _MOST_UNKNOWN
        answered = bool(unknown) and not leaving and not self._exhausted and spared
        for call in unknown:
            may_leave = self._addressee(call) in ("unknown", "direct")
            round.leaves[call] = may_leave and not answered
        if any(round.leaves.values()) or not round.calls.all or self._exhausted:
            return "end"
        if unknown:
            self._unknown_rounds += 1
            self._exhausted = not spared
            for call in unknown:
                self._answers[call] = verdict.refuse(call, self._addressee(call), self._terms)
        return "continue"

    # -- between rounds -----------------------------------------------------

    def _close(self, round: Round) -> None:
        self.played.append(round.played)
        if self._outcome is None:
            self.fail(Broken("The upstream ended its reply before it was complete."))
        if self._outcome == "again" and round.is_empty:
            return  # it was refused: nothing came of it
        self._told += self._words(round)
        if self._outcome == "continue":
            self._exchanges.append(round.exchange(self._answers))
            self._spoken = self._told
            self._spent += verdict.tokens_of_words(round)
            self._exhausted |= any(a.kind == "spent" for a in self._answers.values())
            self._replayed = False
        self._repeat = round.text if self._outcome == "again" else ""
        self._reply.next_round(round.usage, self._repeat)

    def _words(self, round: Round) -> str:
        """The words of a round that the client is told."""
        return unrepeated(round.text, self._repeat)

    def _mixed(self, round: Round) -> Exchange | None:
        """The last round, where it holds answered searches beside calls for the client."""
        is_mixed = self._answers and any(round.leaves.values())
        return round.exchange(self._answers) if is_mixed else None

    def _play_again(self, tools: Sequence[Tool]) -> None:
        """Show these tools and let the round be played as if they had been there."""
        self._replayed = True
        self._outcome = "again"
        names = list(dict.fromkeys(tool.name for tool in tools))
        self._promoted = self._fold.promoting(self._promoted, names)
        if self._terms.wraps:
            assert self._round is not None, "a round has failed"
            seed = b"%d:%b" % (self.rounds, self._fold.context)
            self._exchanges.append(verdict.shown_instead(self._round, names, seed))

    def _cost(self, tool: Tool) -> int:
        return 0 if tool.name in self._promoted else self._terms.shape.tokens(tool)

    def _mended(self, refusal: Refused) -> bool:
        """Whether the round can be played in another form; once the client has its 200, that
        is the one retry."""
        if self.status_is_spent and not self._may_retry:
            return False
        unseen = not self.status_is_spent and not self._reply.begun
        what = sent(self._fold, self._promoted, self._exchanges, calling=self._calling)
        fold = self.mend.fold(refusal, what, unseen=unseen)
        if fold is None:
            return False
        self._retried |= self.status_is_spent
        self._exhausted |= self.mend.unfolded
        self._fold, self._terms = fold, fold.terms
        self._promoted = fold.carrying(self._promoted)
        return True

    @property
    def _calling(self) -> bool:
        """Whether the model may call: not when its searches are used up, unless it has to."""
        return not self._exhausted or self._terms.choice.required

    @property
    def _may_retry(self) -> bool:
        return self.rounds > 1 and not self._retried and not self._reply.told
