"""Searches find their tools: floors for our own query set, and the command that measures."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from app.core.ranking.lexical import Index
from bench.retrieval.__main__ import app
from bench.retrieval.queries import Query, QuerySet, read_sets
from bench.retrieval.score import score
from tests.builders import CATALOG, dumps

FOLDER = Path(__file__).parent / "data" / "retrieval"
FLOORS = {"kw": 1.0, "name": 1.0, "typo": 1.0, "lang": 1.0, "multi": 1.0, "indirect": 0.75}
"""Hit at 5, by the style of the query."""


def styles() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in FOLDER.glob("*.json"):
        for query in json.loads(path.read_text("utf-8"))["queries"]:
            found.setdefault(query["style"], set()).add(query["query"])
    return found


def test_every_style_has_a_floor() -> None:
    assert styles().keys() == FLOORS.keys()


@pytest.mark.parametrize("style", FLOORS)
def test_searches_find_their_tools(style: str) -> None:
    [own] = read_sets(FOLDER)
    asked = tuple(query for query in own.queries if query.text in styles()[style])
    found = score(Index, QuerySet(own.name, own.tools, asked))
    assert found.hit5 >= FLOORS[style]
    if style == "name":
        assert found.mrr == 1.0


class Backwards:
    """Ranks the last tool first, whatever is asked."""

    def __init__(self, tools: Any) -> None:
        self._tools = tools

    def rank(self, query: str) -> list[tuple[int, float]]:
        return [(at, 1.0) for at in reversed(range(len(self._tools)))]


def test_a_score_is_what_its_names_say() -> None:
    [own] = read_sets(FOLDER)
    names = [tool.name for tool in own.tools]
    queries = (
        Query("first and sixth", frozenset({names[-1], names[-6]})),
        Query("second", frozenset({names[-2]})),
        Query("beyond", frozenset({names[0]})),
    )
    found = score(Backwards, QuerySet("x", own.tools, queries))
    assert found.r1 == pytest.approx((1 / 2 + 0 + 0) / 3)
    assert found.r5 == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert found.r10 == pytest.approx((1 + 1 + 0) / 3)
    assert found.hit5 == pytest.approx(2 / 3)
    assert found.mrr == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert found.ndcg == pytest.approx(((1 + 0.356207) / 1.63093 + 0.63093 + 0) / 3, abs=1e-5)


def test_the_command_prints_one_json_object() -> None:
    ran = CliRunner().invoke(
        app, [str(FOLDER), "--ranker", "lexical", "--ranker", "bm25", "--json"]
    )
    printed = json.loads(ran.stdout)
    assert printed["macro"].keys() == {"lexical", "bm25"}
    assert printed["sets"]["own42"]["bm25"]["r5"] == printed["macro"]["bm25"]["r5"]
    assert printed["macro"]["lexical"].keys() >= {"r1", "r5", "r10", "hit5", "ndcg", "mrr"}


def test_the_command_prints_a_table_for_each_set_and_for_all() -> None:
    printed = CliRunner().invoke(app, [str(FOLDER)]).stdout
    assert "own42" in printed
    assert "macro" in printed


BAD: dict[str, tuple[Any, str]] = {
    "no queries": ({"tools": CATALOG, "queries": []}, "no query"),
    "no right tool": ({"tools": CATALOG, "queries": [{"query": "x", "gold": []}]}, "right tool"),
    "no set": ([], "no query set"),
}


@pytest.mark.parametrize(("held", "says"), BAD.values(), ids=BAD)
def test_a_file_that_is_no_query_set_is_named(held: Any, says: str, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_bytes(dumps(held))
    ran = CliRunner().invoke(app, [str(tmp_path)])
    assert ran.exit_code == 2
    assert "broken.json" in ran.stderr
    assert says.split()[-1] in ran.stderr


@pytest.mark.parametrize("arguments", [["--ranker", "none"], []], ids=["ranker", "empty folder"])
def test_wrong_arguments_are_refused(arguments: list[str], tmp_path: Path) -> None:
    assert CliRunner().invoke(app, [str(tmp_path), *arguments]).exit_code == 2
