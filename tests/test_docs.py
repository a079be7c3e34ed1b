import re

import pytest

from app.settings import Settings
from docs.blocks import ROOT, pages
from docs.check import check
from docs.diagram import KINDS
from docs.generated import generated


@pytest.mark.parametrize("path", generated())
def test_what_is_generated_is_current(path: str) -> None:
    assert (ROOT / path).read_text() == generated()[path], "run `make docs`"
