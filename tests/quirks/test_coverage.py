"""Every report has its test."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
LINES = (TESTS / "data" / "quirk_ids.txt").read_text().splitlines()
IDS = [line.split()[0] for line in LINES if not line.startswith("#")]


def names() -> set[str]:
    return {
        node.name
        for path in TESTS.rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


NAMES = names()


def test_the_list_is_whole() -> None:
    assert len(IDS) == len(set(IDS)) == 61


@pytest.mark.parametrize("identifier", IDS)
def test_a_report_has_a_test_that_is_named_by_its_id(identifier: str) -> None:
    assert any(identifier in name.split("_") for name in NAMES)
