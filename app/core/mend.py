"""What is done about a round that was refused: another form of what is ours, once a trait, and
at last the client's own request."""

from app.core.errors import Refused
from app.core.fold import Fold
from app.core.remedy import Sent, is_ours, remedy
from app.core.traits import Traits

_MOST = 8
"""Forms that are tried in one turn."""


class Mend:
    """What a turn has learned of its upstream."""

    def __init__(self) -> None:
        self.learned: list[str] = []
        """The traits that refusals have taught."""
        self.unfolded = False
        """Every other form was refused, so that the client's own request is sent."""
        self._tried: set[tuple[Traits, frozenset[str]]] = set()
        self.taken: Traits | None = None
        """What has been learned, once the upstream has taken a round of that form."""

    def fold(self, refusal: Refused, sent: Sent, *, unseen: bool) -> Fold | None:
        """The request in another form, None where there is none. `unseen`: the client has seen
        nothing, so that its own request is still one."""
        terms = sent.fold.terms
        self._tried.add((terms.traits, terms.barred))
        found = None if self.unfolded or len(self.learned) >= _MOST else remedy(refusal, sent)
        if found is not None and (found.traits, found.barred) not in self._tried:
            self.learned.append(found.trait)
            return sent.fold.under(found.traits, found.barred)
        if not unseen or self.unfolded or not sent.fold.may_unfold or not is_ours(refusal, sent):
            return None
        self.unfolded = True
        return sent.fold

    def took(self, fold: Fold) -> None:
        """The upstream has answered a round of this form."""
        if self.learned and not self.unfolded:
            self.taken = fold.terms.traits
