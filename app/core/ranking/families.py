"""The families that names say they belong to: `github` in `github__create_issue`.

    tools of a family that the query names      up to recall@5 +.01 where there are families
    tools of a family that has several answers  recall@5 +.003, MRR +.001

Only an explicit separator counts here: families guessed from first words lost up to .03.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from app.core.ranking.words import words

_SEPARATOR = re.compile(r"__|\.")
_NO_SERVICE = frozenset(
    {"api", "app", "client", "mcp", "my", "remote", "server", "service", "tool"}
)
"""Words of family names that name no family."""


def prefix(name: str) -> tuple[str, str] | None:
    """The family that a name begins with, and that beginning, separator and `mcp__` included."""
    rest = name.removeprefix("mcp__")
    if (separator := _SEPARATOR.search(rest, 1)) and separator.end() < len(rest):
        start = len(name) - len(rest)
        return rest[: separator.start()], name[: start + separator.end()]
    return None


def members(names: Sequence[str]) -> dict[str, list[int]]:
    """The families of the tools with these names, and the positions of their tools."""
    families: dict[str, list[int]] = defaultdict(list)
    for position, name in enumerate(names):
        if found := prefix(name):
            families[found[0]].append(position)
    return dict(families)


def named(families: Mapping[str, list[int]]) -> dict[str, list[int]]:
    """By word that names one family only: the positions of its tools."""
    by_word: dict[str, list[list[int]]] = defaultdict(list)
    for family, positions in families.items():
        for word in set(words(family, _NO_SERVICE, joins=True)):
            by_word[word].append(positions)
    return {word: found[0] for word, found in by_word.items() if len(found) == 1}
