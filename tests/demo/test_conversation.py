"""The conversation and its numbers."""

from itertools import pairwise

from app.demo.conversation import EAGER, Conversation, conversations
from app.demo.dialogue import DIALOGUE
from app.demo.upstream import Record


def held(*records: tuple[int, int], way: str = "wrap") -> Conversation:
    """A conversation whose requests had these prompt tokens and cached ones."""
    served = tuple(Record(200, 900, 2, prompt, cached) for prompt, cached in records)
    return Conversation(way, served, asked=2, answers_right=2)


def test_cached_tokens_and_the_rest_are_all_there_are() -> None:
    one = held((100, 0), (150, 90), (250, 150))
    assert (one.prompt_tokens, one.cached_tokens, one.fresh_tokens) == (500, 240, 260)
    assert one.later_fresh_tokens == 160
    assert one.share == 0.48


def test_the_user_says_at_least_eight_things_of_every_kind() -> None:
    assert len({task.ask for task in DIALOGUE}) == len(DIALOGUE) >= 8
    assert sum(not task.stages for task in DIALOGUE) >= 1
    assert sum(len(task.stages) > 1 for task in DIALOGUE) >= 1
    assert sum(len(stage) > 1 for task in DIALOGUE for stage in task.stages) >= 1
    first = [task.stages[0][0].tool for task in DIALOGUE if task.stages]
    assert first.count(first[0]) >= 3


def test_with_wrap_and_memory_every_request_goes_on_from_the_one_before() -> None:
    [one] = conversations(300, len, seed=7, ways=["wrap"])
    assert one.right
    assert {record.tools for record in one.records} == {2}
    assert one.records[0].cached_tokens == 0
    for before, after in pairwise(one.records):
        assert before.prompt_tokens - len("]") <= after.cached_tokens < after.prompt_tokens


def test_without_toolfold_every_request_declares_everything() -> None:
    [one] = conversations(41, len, seed=7, ways=[EAGER])
    assert one.right
    assert {record.tools for record in one.records} == {41}
