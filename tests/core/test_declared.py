import pytest

from app.core.declared import fitted

CASES: dict[str, tuple[int, list[str]]] = {
    "all fit": (4, ["a", "k", "b", "c"]),
    "the oldest that was only found goes": (3, ["k", "b", "c"]),
    "then the next": (1, ["k"]),
    "and what is kept last": (0, []),
}


@pytest.mark.parametrize(("room", "left"), CASES.values(), ids=CASES)
def test_as_many_as_the_upstream_takes(room: int, left: list[str]) -> None:
    assert fitted(["a", "k", "b", "c"], frozenset({"k"}), room) == left
