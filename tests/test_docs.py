import pytest

from docs.generated import ROOT, generated


@pytest.mark.parametrize("path", generated())
def test_what_is_generated_is_current(path: str) -> None:
    assert (ROOT / path).read_text() == generated()[path], "run `make docs`"
