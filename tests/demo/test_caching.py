"""The table of the conversation, and the words under it, follow from its numbers."""

import io
import re

import pytest
from rich.console import Console

from app.demo.caching import conclusion, cost, opening, table
from app.demo.conversation import Conversation

from .test_conversation import held

EAGER = held((1_000, 0), (1_100, 1_000), way="eager")
KEPT = held((100, 0), (300, 200), way="wrap")
LOST = held((100, 0), (250, 50), way="wrap --store none")
THREE = (EAGER, KEPT, LOST)


def printed(*conversations: Conversation) -> str:
    page = io.StringIO()
    Console(file=page, width=100).print(table(conversations))
    return page.getvalue()


def test_the_numbers_of_a_row_add_up() -> None:
    rows = re.findall(r"(\d+) +([\d,]+) +([\d,]+) +(\d+)% +([\d,]+) +2 of 2", printed(*THREE))
    assert len(rows) == 3
    for row, one in zip(rows, THREE, strict=True):
        requests, prompt, cached, share, fresh = (int(cell.replace(",", "")) for cell in row)
        assert requests == len(one.records)
        assert prompt == one.prompt_tokens == cached + fresh
        assert share == round(100 * cached / prompt)


def test_the_table_fits_100_columns_and_cuts_nothing() -> None:
    shown = printed(held((54_321_000, 0), (60_321_000, 54_321_000), way="promote --store none"))
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown
    for cell in ("promote --store none", "114,642,000", "54,321,000", "47%", "60,321,000"):
        assert cell in shown


def test_the_words_compare_the_best_way_with_none_of_it() -> None:
    said = conclusion(THREE)
    assert "could serve 48% of 2,100 prompt tokens and leaves 1,100 to compute." in said
    assert "`wrap` leaves the fewest, 200, which is 82% fewer." in said
    assert "it is 100 for `eager` and 100 for `wrap`." in said


def test_the_words_say_what_memory_is_worth_and_what_it_takes() -> None:
    assert (
        "With `wrap` memory leaves 33% fewer tokens to compute, and the prompts have 14% more."
        in conclusion(THREE)
    )


def test_the_words_put_the_ways_in_the_order_of_their_cost() -> None:
    assert [cost(one) for one in THREE] == pytest.approx([1_200, 220, 305])
    assert "220 (`wrap`), 305 (`wrap --store none`) and 1,200 (`eager`)" in conclusion(THREE)


def test_the_words_admit_that_no_strategy_is_better() -> None:
    cheap = held((10, 0), (12, 10), way="eager")
    assert "No strategy leaves fewer." in conclusion((cheap, KEPT))


def test_the_opening_says_what_is_compared() -> None:
    assert opening(9, 300).startswith("One conversation of 9 questions over 300 tools.")
