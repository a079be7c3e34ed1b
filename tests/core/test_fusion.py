import pytest

from app.core.hits import Hit
from app.core.ranking.fusion import fuse

OTHERS = {f"other{at}": 0.10 + at / 1000 for at in range(40)}


def names(lexical: list[Hit], similarity: dict[str, float]) -> list[str]:
    return [hit.name for hit in fuse(lexical, similarity)]


def test_words_and_meaning_both_count() -> None:
    said = [Hit("both", 10.0), Hit("words", 10.0)]
    near = {**OTHERS, "meaning": 0.9, "words": 0.1, "both": 0.9}
    assert names(said, near) == ["both", "words", "meaning"]


def test_a_tool_that_is_no_nearer_than_chance_is_not_found() -> None:
    assert names([], OTHERS) == []


@pytest.mark.parametrize("shift", [0.0, 0.7, -0.5])
@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_the_models_scale_is_no_matter(shift: float, scale: float) -> None:
    near = {**OTHERS, "far": 0.0, "meaning": 0.9}
    scaled = {name: shift + scale * value for name, value in near.items()}
    assert names([Hit("far", 3.0)], scaled) == names([Hit("far", 3.0)], near) == ["far", "meaning"]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 10])
def test_few_tools_can_stand_out_too(count: int) -> None:
    near = {f"other{at}": 0.1 for at in range(count)} | {"meaning": 0.9}
    assert names([], near) == ["meaning"]


def test_equal_similarity_says_nothing() -> None:
    assert names([], dict.fromkeys("abc", 0.4)) == []
    assert names([Hit("b", 1.0)], dict.fromkeys("abc", 0.4)) == ["b"]
    assert names([], {}) == []
