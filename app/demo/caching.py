"""What the demo prints about the conversation: a table, and in words what the table shows."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.table import Table

from app.demo.conversation import EAGER, WITHOUT_MEMORY, Conversation
from app.demo.report import change

CACHED_PRICE = 0.1
"""What a token from the cache costs in uncached ones: about what large providers ask."""

_CAVEAT = (
    "Beginnings are compared letter by letter. Real caches keep blocks, want a least length and "
    "forget, so they serve less."
)
_NUMBERS = (
    "\nupstream\nrequests",
    "\nprompt\ntokens",
    "of them\ncacheable,\ntokens",
    "of them\ncacheable,\nshare",
    "prompt\ntokens not\ncacheable",
    "\nanswers\nright",
)


def opening(asked: int, size: int) -> str:
    """What the table is about."""
    return (
        f"One conversation of {asked} questions over {size} tools. Upstreams keep what they have "
        "computed for a prompt, and serve the next one from there as far as it begins alike: "
        "tools first, then messages. Toolfold's memory puts its searches back where they were, "
        f"with all that they found, so that the beginning stays. `{WITHOUT_MEMORY}` switches "
        f"memory off; `{EAGER}` is the app without Toolfold. Each row begins with an empty cache."
    )


def table(held: Sequence[Conversation]) -> Table:
    """A row for each way."""
    sheet = Table(title="What a cache could serve", title_justify="left")
    sheet.box, sheet.collapse_padding, sheet.pad_edge = box.SIMPLE_HEAD, True, False
    sheet.add_column("\n\nstrategy", no_wrap=True)
    for heading in _NUMBERS:
        sheet.add_column(heading, no_wrap=True, justify="right")
    for one in held:
        sheet.add_row(
            one.way,
            str(len(one.records)),
            f"{one.prompt_tokens:,}",
            f"{one.cached_tokens:,}",
            f"{one.share:.0%}",
            f"{one.fresh_tokens:,}",
            f"{one.answers_right} of {one.asked}",
        )
    return sheet


def conclusion(held: Sequence[Conversation]) -> str:
    """What the table shows, in numbers that come from it."""
    return " ".join((*_left(held), *_memory(held), _costs(held), _CAVEAT))


def cost(one: Conversation) -> float:
    """The prompt tokens of a conversation, those from the cache at their lower price."""
    return one.fresh_tokens + CACHED_PRICE * one.cached_tokens


def _left(held: Sequence[Conversation]) -> Iterator[str]:
    """What no cache can serve, without Toolfold and at best."""
    eager = next(one for one in held if one.way == EAGER)
    best = min(held, key=lambda one: one.fresh_tokens)
    yield (
        f"Without Toolfold a cache could serve {eager.share:.0%} of {eager.prompt_tokens:,} prompt "
        f"tokens and leaves {eager.fresh_tokens:,} to compute."
    )
    if best is eager:
        yield "No strategy leaves fewer."
        return
    saving = 1 - best.fresh_tokens / eager.fresh_tokens
    yield (
        f"`{best.way}` leaves the fewest, {best.fresh_tokens:,}, which is {change(saving)}. "
        "Without the first request, whose tools another conversation may have put into the cache, "
        f"it is {eager.later_fresh_tokens:,} for `{EAGER}` and {best.later_fresh_tokens:,} for "
        f"`{best.way}`."
    )


def _memory(held: Sequence[Conversation]) -> list[str]:
    """What memory is worth, and what it takes, with each strategy that was held both ways."""
    ways = {one.way: one for one in held}
    pairs = ((one, ways.get(f"{way} {WITHOUT_MEMORY}")) for way, one in ways.items())
    return [
        f"With `{kept.way}` memory leaves {change(1 - kept.fresh_tokens / lost.fresh_tokens)} "
        f"tokens to compute, and the prompts have {_longer(kept, lost)}."
        for kept, lost in pairs
        if lost
    ]


def _longer(kept: Conversation, lost: Conversation) -> str:
    return change(1 - kept.prompt_tokens / lost.prompt_tokens)


def _costs(held: Sequence[Conversation]) -> str:
    """The order of the ways at a price for cached tokens."""
    listed = [f"{cost(one):,.0f} (`{one.way}`)" for one in sorted(held, key=cost)]
    return (
        f"Where a cached token costs {CACHED_PRICE:.0%} of another, the prompts cost as much as "
        f"{', '.join(listed[:-1])} and {listed[-1]} tokens that are not cached."
    )
