"""What the rounds of a turn cost."""

from typing import Any

import pytest

from app.core.bill import Played, Usage, read_usage, search_tokens, total


def usage(prompt: Any, completion: Any, **beside: Any) -> Any:
    return {"prompt_tokens": prompt, "completion_tokens": completion, **beside}


@pytest.mark.parametrize(
    ("said", "read"),
    [
        (usage(10, 2), Usage(10, 2)),
        (
            usage(10, 2, prompt_tokens_details={"cached_tokens": 8}, total_tokens=12),
            Usage(10, 2, cached=8),
        ),
        (
            usage(10, 9, completion_tokens_details={"reasoning_tokens": 7}),
            Usage(10, 9, reasoning=7),
        ),
        (usage(10, 2, prompt_tokens_details=None), Usage(10, 2)),
        (usage(10, 2, prompt_tokens_details={"cached_tokens": "8"}), Usage(10, 2)),
        (usage(10, None), None),
        (usage("10", 2), None),
        (usage(True, 2), None),
        (usage(-1, 2), None),
        (usage(10**400, 2), None),
        ({}, None),
        (None, None),
    ],
)
def test_a_usage_is_read_where_it_is_numbers(said: Any, read: Usage | None) -> None:
    assert read_usage(said) == read


def rounds(*usages: Usage | None) -> list[Played]:
    return [Played(usage=usage) for usage in usages]


@pytest.mark.parametrize(
    ("usages", "extra"),
    [
        ([], 0),
        ([None], 0),
        ([Usage(100, 10)], 0),
        ([Usage(100, 10), Usage(130, 20)], 10 + 130),
        ([Usage(100, 10), Usage(130, 20), Usage(160, 30)], 10 + 130 + 20 + 160),
        ([Usage(100, 10), None], None),
        ([None, Usage(130, 20)], None),
    ],
    ids=["none", "unknown-but-one", "one", "two", "three", "last-unknown", "first-unknown"],
)
def test_searching_costs_all_but_the_first_prompt_and_the_last_completion(
    usages: list[Usage | None], extra: int | None
) -> None:
    assert search_tokens(rounds(*usages)) == extra


def test_the_total_is_known_where_every_round_has_said_its_own() -> None:
    assert total(rounds(Usage(1, 2, 3), Usage(10, 20, None, 5))) == Usage(11, 22, 3, 5)
    assert total(rounds(Usage(1, 2))) == Usage(1, 2)
    assert total(rounds(Usage(1, 2), None)) is None
    assert total([]) is None
