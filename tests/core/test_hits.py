import pytest

from app.core.hits import Hit, Ranked, best, rank_of

SAID = [[Hit("a", 3.0), Hit("b", 2.0)], [], [Hit("b", 5.0), Hit("c", 1.0), Hit("a", 0.5)]]


def test_the_best_of_every_query_come_first_and_each_name_once() -> None:
    assert best(SAID) == ["a", "b", "c"]


@pytest.mark.parametrize(("name", "place"), [("a", 1), ("b", 1), ("c", 2), ("d", 0)])
def test_a_tools_rank_is_the_best_that_any_query_gives_it(name: str, place: int) -> None:
    assert rank_of(name, SAID) == place


def test_the_confidence_is_the_best_hits() -> None:
    assert Ranked("x", SAID).confidence == 5.0
    assert Ranked("x", [[], []]).confidence is None
