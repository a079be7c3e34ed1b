"""How much of a prompt an upstream has served before."""

import pytest

from app.demo.cache import KEPT, Cache, Prompt

SERVED = Prompt("[look]", "[hello]")
SHARED = {
    "the same": (SERVED, 13),
    "a longer conversation": (Prompt("[look]", "[hello,bye]"), 12),
    "a shorter conversation": (Prompt("[look]", "[hell]"), 11),
    "another conversation": (Prompt("[look]", "[bye]"), 7),
    "another tool": (Prompt("[list]", "[hello]"), 2),
    "a tool behind": (Prompt("[look,list]", "[hello]"), 5),
    "a tool before": (Prompt("[a,look]", "[hello]"), 1),
    "no tools": (Prompt("", "[hello]"), 0),
    "nothing": (Prompt("", ""), 0),
}


@pytest.mark.parametrize(("prompt", "shared"), SHARED.values(), ids=SHARED)
def test_the_shared_beginning_is_counted(prompt: Prompt, shared: int) -> None:
    cache = Cache(len)
    assert cache.serve(SERVED) == 0
    assert cache.serve(prompt) == shared


def test_the_longest_of_all_earlier_prompts_counts() -> None:
    cache = Cache(len)
    for messages in ("[hello,bye]", "[hello]", "[hi]"):
        cache.serve(Prompt("[look]", messages))
    assert cache.serve(Prompt("[look]", "[hello,bye,now]")) == len("[look][hello,bye")


def test_old_prompts_are_forgotten() -> None:
    cache = Cache(len)
    cache.serve(SERVED)
    for _ in range(KEPT):
        cache.serve(Prompt("", ""))
    assert cache.serve(SERVED) == 0


@pytest.mark.parametrize("at", range(7))
def test_every_place_where_two_prompts_part_is_found(at: int) -> None:
    other = Prompt(SERVED.tools, SERVED.messages[:at] + "#" + SERVED.messages[at + 1 :])
    assert SERVED.begins_like(other) == Prompt(SERVED.tools, SERVED.messages[:at])
    assert other.begins_like(SERVED) == SERVED.begins_like(other)


def test_a_word_cut_in_two_never_makes_more_tokens_than_there_are() -> None:
    cache = Cache(lambda text: 1 if text.endswith("]") else len(text))
    cache.serve(SERVED)
    longer = Prompt("[look]", "[hello!]")
    assert cache.serve(longer) == longer.tokens(lambda text: 1)


def test_more_messages_share_no_less() -> None:
    growing = [Prompt("[look]", f"[{'hello,' * n}bye]") for n in range(5)]
    cache = Cache(len)
    shared = [cache.serve(prompt) for prompt in growing]
    assert shared == sorted(shared)
    assert all(cached < prompt.tokens(len) for cached, prompt in zip(shared, growing, strict=True))
