from math import log

import pytest

from app.core.ranking.fields import FIELDS, Text
from app.core.ranking.postings import coverage, weigh


def said(**fields: str) -> Text:
    return {field: fields.get(field, "").split() for field in FIELDS}


def test_a_word_is_weighed_by_how_rare_it_is_and_where_it_is_said() -> None:
    texts = [said(name="pod list"), said(name="pod", description="list"), said(description="pod")]
    postings, rarity = weigh(texts)
    assert rarity["list"] == pytest.approx(log(1 + 1.5 / 2.5))
    assert rarity["list"] > rarity["pod"] > 0
    by_tool = postings["pod"]
    assert by_tool[1] > by_tool[0] > by_tool[2], "a short name, a longer one, a description"


@pytest.mark.parametrize("count", [0, 1, 2])
def test_words_are_worth_something_in_the_smallest_catalogs(count: int) -> None:
    postings, _ = weigh([said(name="pod")] * count)
    scores = postings.get("pod", {}).values()
    assert len(scores) == count
    assert all(score > 0 for score in scores)


def test_a_name_is_shared_out_among_its_words_by_rarity() -> None:
    shares = coverage([["create", "issue"], ["issue", "issue"]], {"create": 3.0, "issue": 1.0})
    assert shares == {"create": {0: 0.75}, "issue": {0: 0.25, 1: 1.0}}
