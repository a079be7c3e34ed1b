"""The prompts that the upstream has served lately, and how much of the next one they begin with.

A provider keeps what it has computed for a prompt, and a later prompt that begins with the same
text is served from there as far as the two agree. The tools come first, then the messages, so a
tool that is added moves every message out of the part they share.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

KEPT = 60
"""Prompts that are compared: real caches forget within minutes."""


@dataclass(frozen=True)
class Prompt:
    """What a model reads, as text in the order in which it reads it."""

    tools: str
    messages: str

    def tokens(self, count: Callable[[str], int]) -> int:
        """The two parts counted apart: the tools stay the same, and their count is known."""
        return count(self.tools) + count(self.messages)

    def begins_like(self, other: "Prompt") -> "Prompt":
        """The beginning that the two share."""
        tools = self.tools[: _agreement(self.tools, other.tools)]
        if len(tools) < max(len(self.tools), len(other.tools)):
            return Prompt(tools, "")
        return Prompt(tools, self.messages[: _agreement(self.messages, other.messages)])


class Cache:
    """The last prompts of one upstream."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._served: deque[Prompt] = deque(maxlen=KEPT)

    def serve(self, prompt: Prompt) -> int:
        """Tokens of the longest beginning that an earlier prompt has, and keep this one."""
        shared = [prompt.begins_like(other) for other in self._served]
        self._served.append(prompt)
        longest = max(shared, key=_length, default=Prompt("", ""))
        # A word that is cut in two can weigh a token more than the whole.
        return min(longest.tokens(self._count), prompt.tokens(self._count))


def _length(prompt: Prompt) -> int:
    return len(prompt.tools) + len(prompt.messages)


def _agreement(one: str, other: str) -> int:
    """How many characters two texts begin with in common, by halving: prompts are long."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
