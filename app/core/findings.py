"""What is odd in the text of a tool, which is written by strangers and read by a model.

The manifest leaves out what cannot be seen; the declaration keeps the client's bytes. So an
operator is told. Plain scans: a megabyte takes milliseconds.
"""

import re
from typing import Literal

Finding = Literal["invisible", "markup", "instructions", "long"]
"""Characters that nobody sees; tags as chat templates use them; words that are meant for the
model and not about the tool; more than anybody reads."""

_LONG = 8_000
_SPACES = dict.fromkeys(map(ord, "\t\n\r\u00a0\u2009\u202f\u3000"), " ")
_MARKUP = re.compile(
    r"</?(?:tools?|system|assistant|user|function_calls?|tool_calls?|instructions?)>|<\|", re.I
)
_INSTRUCTIONS = re.compile(
    r"\b(?:ignore|disregard|forget) (?:all |any |the |your )?(?:previous|prior|above|earlier)\b"
    r"|\bdo not (?:tell|inform|mention (?:this|it) to) the user\b",
    re.I,
)


def findings(text: str) -> tuple[Finding, ...]:
    """What is odd in a description."""
    found: tuple[tuple[Finding, bool], ...] = (
        ("invisible", not text.translate(_SPACES).isprintable()),
        ("markup", _MARKUP.search(text) is not None),
        ("instructions", _INSTRUCTIONS.search(text) is not None),
        ("long", len(text) > _LONG),
    )
    return tuple(name for name, applies in found if applies)
