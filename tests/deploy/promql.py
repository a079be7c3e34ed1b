"""What an expression of Prometheus asks for: names of metrics with the labels used of each. Not a
parser: promtool is that."""

import re
from typing import NamedTuple

_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_GROUPED = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_MATCHED = re.compile(r"(\w+)\s*\{([^}]*)\}")
_WINDOW = re.compile(r"\[[^\]]*\]")
_NAME = re.compile(r"\b[a-z_]\w*\b(?!\s*\()")
_OPERATORS = frozenset({"and", "or", "unless", "bool", "offset"})


class Asked(NamedTuple):
    """What is asked of."""

    metrics: frozenset[str]
    labels: frozenset[str]
    """Those that are matched or grouped by."""


def asked(expression: str) -> Asked:
    """What an expression asks for."""
    plain = _TEXT.sub('""', _WINDOW.sub("", expression))
    labels = {name for group in _GROUPED.findall(plain) for name in re.findall(r"\w+", group)}
    for _, matchers in _MATCHED.findall(plain):
        labels |= set(re.findall(r"(\w+)\s*[=!]", matchers))
    bare = _MATCHED.sub(r"\1", _GROUPED.sub("", plain))
    return Asked(frozenset(_NAME.findall(bare)) - _OPERATORS, frozenset(labels))
