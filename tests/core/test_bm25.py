"""The plain ranker, and what it and the default one must agree on."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.ranking import Ranker
from app.core.ranking.bm25 import Bm25
from app.core.ranking.lexical import Index
from app.core.tools import Tool, parse
from tests.builders import CATALOG, dumps, tool

TOOLS = [parse(dumps(entry), at) for at, entry in enumerate(CATALOG)]
BOTH: list[Ranker] = [Bm25(TOOLS), Index(TOOLS)]


@pytest.mark.parametrize("count", [1, 2])
def test_a_catalog_of_one_or_two_has_a_ranking(count: int) -> None:
    [(position, score)] = Bm25(TOOLS[:count]).rank("weather")
    assert position == 0
    assert score > 0


NO_WORDS = {"no tools": [], "empty texts": [parse(dumps(tool("_", "")), 0)] * 2}


@pytest.mark.parametrize("tools", NO_WORDS.values(), ids=NO_WORDS)
def test_where_nothing_is_said_nothing_is_found(tools: list[Tool]) -> None:
    assert Bm25(tools).rank("weather") == []


def test_a_tool_without_words_among_others_is_not_found() -> None:
    tools = [parse(dumps(tool("_", "")), 0), *TOOLS]
    assert [position for position, _ in Bm25(tools).rank("weather")] == [1]


def test_a_name_counts_more_than_a_description() -> None:
    entries = [tool("post", "A letter to send."), tool("send_letter", "Post it."), tool("x", "y")]
    tools = [parse(dumps(entry), at) for at, entry in enumerate(entries)]
    assert Bm25(tools).rank("letter")[0][0] == 1


def test_ties_keep_the_order_of_the_catalog() -> None:
    twins = [parse(dumps(tool(name, "same text")), 0) for name in ("beta", "alpha")]
    assert [position for position, _ in Bm25(twins).rank("same text")] == [0, 1]


@pytest.mark.parametrize("ranker", BOTH, ids=["bm25", "lexical"])
@pytest.mark.parametrize("position", range(3))
def test_a_word_that_one_tool_has_puts_it_first(ranker: Ranker, position: int) -> None:
    word = ("units", "github", "cents")[position]
    assert ranker.rank(word)[0][0] == position


WORDS = st.sampled_from(["crm", "contact", "deal", "campaign", "weather", "repo", "cents", "id"])


@given(st.lists(WORDS, min_size=1, max_size=5))
@settings(max_examples=50)
def test_both_find_every_tool_that_says_a_word(said: list[str]) -> None:
    plain, default = ({at for at, _ in ranker.rank(" ".join(said))} for ranker in BOTH)
    assert plain <= default


@given(st.text(max_size=300))
@settings(max_examples=50)
def test_any_query_has_an_answer(query: str) -> None:
    assert all(0 <= at < len(TOOLS) for at, _ in BOTH[0].rank(query))
