"""What the rounds of a turn cost, and what folding saved when that is counted in."""

from collections.abc import Sequence
from typing import NamedTuple

from app.core.codec import Json

_MOST = 2**53
"""A number of tokens that is none: floats, which metrics are, cannot tell it from the next."""


class Usage(NamedTuple):
    """Tokens of one upstream reply, as the upstream reports them."""

    prompt: int
    completion: int
    cached: int | None = None
    """Of the prompt, read from the upstream's cache. None: not reported."""
    reasoning: int | None = None
    """Of the completion."""


class Played(NamedTuple):
    """One round that was played, as it is told of to the operator."""

    id: str = ""
    """The upstream's, of its reply."""
    model: str = ""
    finish: str | None = None
    usage: Usage | None = None


def read_usage(usage: Json | None) -> Usage | None:
    """What an upstream says of the tokens used, None where it does not say it in numbers."""
    said = usage or {}
    prompt, completion = _number(said, "prompt_tokens"), _number(said, "completion_tokens")
    if prompt is None or completion is None:
        return None
    cached = _number(said.get("prompt_tokens_details"), "cached_tokens")
    reasoning = _number(said.get("completion_tokens_details"), "reasoning_tokens")
    return Usage(prompt, completion, cached, reasoning)


def total(rounds: Sequence[Played]) -> Usage | None:
    """The usage of all rounds, None unless each has reported its own."""
    usages = _usages(rounds)
    if not usages:
        return None
    return Usage(
        sum(usage.prompt for usage in usages),
        sum(usage.completion for usage in usages),
        _sum([usage.cached for usage in usages]),
        _sum([usage.reasoning for usage in usages]),
    )


def search_tokens(rounds: Sequence[Played]) -> int | None:
    """What the rounds cost that no client would have had without us, None where that is not
    known: all that they read and wrote, less the first prompt and the last completion.

    A client that sends all its tools pays one prompt and one completion. Whatever comes on top
    is the price of searching, the tools declared again in every round included.
    """
    if len(rounds) < 2:
        return 0
    usages = _usages(rounds)
    if usages is None:
        return None
    both = sum(usage.prompt + usage.completion for usage in usages)
    return both - usages[0].prompt - usages[-1].completion


def _usages(rounds: Sequence[Played]) -> list[Usage] | None:
    usages = [played.usage for played in rounds if played.usage is not None]
    return usages if len(usages) == len(rounds) else None


def _number(said: object, name: str) -> int | None:
    value = said.get(name) if isinstance(said, dict) else None
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < _MOST else None


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
