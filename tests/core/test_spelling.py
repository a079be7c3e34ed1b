import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.ranking.spelling import Spelling

KNOWN = {"repositori": [1, 2], "employe": [1], "schedul": [1], "pull": [1], "request": [1]}
SPELLING = Spelling(KNOWN)

SLIPS = {
    "left out": ("repositri", ["repositori"]),
    "too much": ("repossitori", ["repositori"]),
    "changed": ("repozitori", ["repositori"]),
    "swapped": ("reopsitori", ["repositori"]),
    "at the end": ("repositor", ["repositori"]),
    "at the start": ("scehdul", ["schedul"]),
    "in a short word": ("pul", []),
    "in a word of four letters": ("plul", ["pull"]),
    "two slips": ("repsitry", []),
    "the first letter": ("depositori", []),
    "a number": ("4044", []),
    "no letters": ("", []),
    "Chinese": ("天气预报", []),
}


@pytest.mark.parametrize(("word", "meant"), SLIPS.values(), ids=SLIPS)
def test_a_slip_is_put_right(word: str, meant: list[str]) -> None:
    assert SPELLING.meant(word) == meant


def test_of_several_the_commonest_two_are_meant() -> None:
    spelling = Spelling({"cart": [1], "card": [1, 2], "care": [1, 2, 3]})
    assert spelling.meant("carx") == ["care", "card"]


@pytest.mark.parametrize(
    ("word", "halves"),
    [
        ("pullrequest", ("pull", "request")),
        ("pullx", ()),
        ("request", ()),
        ("pullpull", ("pull", "pull")),
    ],
)
def test_two_words_written_as_one_are_two(word: str, halves: tuple[str, ...]) -> None:
    assert tuple(SPELLING.halves(word)) == halves


def test_halves_are_known_in_any_form() -> None:
    assert tuple(SPELLING.halves("pullsrequests")) == ("pull", "request")


LETTERS = st.text("abcd", min_size=4, max_size=9)


def _slips(word: str) -> set[str]:
    changed = {word[:at] + new + word[at + 1 :] for at in range(len(word)) for new in ("a", "")}
    added = {f"{word[:at]}a{word[at:]}" for at in range(len(word) + 1)}
    swapped = {word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1)}
    return {slip for slip in changed | added | swapped if len(slip) >= 4 and slip[0] == word[0]}


@given(LETTERS)
@example("abcd")
def test_every_slip_behind_the_first_letter_is_found(word: str) -> None:
    spelling = Spelling({word: [1]})
    assert [slip for slip in _slips(word) if spelling.meant(slip) != [word]] == []
