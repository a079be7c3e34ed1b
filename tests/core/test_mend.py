from typing import Any

from app.core.errors import Refused
from app.core.exchange import shown
from app.core.fold import Fold
from app.core.mend import Mend
from app.core.policy import Policy
from app.core.remedy import Sent, sent
from tests.builders import body, dumps
from tests.player import planned


def refused(message: str) -> Refused:
    return Refused(400, dumps({"error": {"message": message}}))


def first_round(**policy: Any) -> Sent:
    plan = planned(body(), Policy(mode="on", **policy))
    assert isinstance(plan, Fold)
    return sent(plan, [], [], calling=True)


def test_another_form_then_the_clients_own_request_then_nothing() -> None:
    mend, what = Mend(), first_round()
    other = mend.fold(refused("no tool called tool_search"), what, unseen=True)
    assert other is not None
    assert other.terms.bridge == "find_tools"
    again = sent(other, [], [], calling=True)
    assert mend.fold(refused("no tool called find_tools"), again, unseen=True) is other
    assert (mend.learned, mend.unfolded) == (["bridge"], True)
    assert mend.fold(refused("tools"), again, unseen=True) is None


def test_what_was_learned_counts_once_the_upstream_has_taken_it() -> None:
    mend, what = Mend(), first_round()
    mend.took(what.fold)
    assert mend.taken is None
    other = mend.fold(refused("tool_search is not allowed"), what, unseen=True)
    assert other is not None
    mend.took(other)
    assert mend.taken == other.terms.traits


def test_a_lesson_that_did_not_help_is_not_kept() -> None:
    mend, what = Mend(), first_round()
    other = mend.fold(refused("tool_search is not allowed"), what, unseen=True)
    assert other is not None
    mend.fold(refused("tools are wrong"), sent(other, [], [], calling=True), unseen=True)
    mend.took(other)
    assert mend.taken is None


def test_once_the_client_has_seen_something_its_own_request_is_none() -> None:
    mend = Mend()
    assert mend.fold(refused("tools are wrong"), first_round(), unseen=False) is None
    assert not mend.unfolded


def test_two_forms_that_are_both_refused_come_to_an_end() -> None:
    """Whatever a refusal says: a form is tried once."""
    mend = Mend()
    what = first_round(strategy="wrap")
    said = refused(
        "content of assistant: null, none and empty text are not allowed, tool_search too"
    )
    for _ in range(20):
        if (other := mend.fold(said, what, unseen=True)) is None:
            break
        what = sent(other, [], [shown(["get_weather"], b"")], calling=True)
    assert mend.unfolded
    assert mend.learned == ["bridge", "content"]
