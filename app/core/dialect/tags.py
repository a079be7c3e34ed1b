"""How a call and a result begin and end in a text.

Models write `<tool_call>` in many ways: without the underscore, with the pipes of special
tokens, with a slash too many, as the name of a fenced block. All of them are read; one is
written. Some put the call into a fenced block of JSON: that is read where it is a call to the
letter, since it may as well be an answer. Text that is only quoted may not look like a tag, so
there its `<` is rewritten.
"""

import re
from collections.abc import Sequence

OPEN, CLOSE = "<tool_call>", "</tool_call>"
_NAME = "tool[_-]?calls?"
_LEAKED = "[|/ ]{0,3}"
BOUNDARY = re.compile(f"<{_LEAKED}(?:call:)?{_NAME}{_LEAKED}>", re.IGNORECASE)
"""A tag in any variant. Whether it opens or closes is seen from where it stands."""
FENCE_END = re.compile(f"```|{BOUNDARY.pattern}", re.IGNORECASE)
INVOKE_END = re.compile(r"</invoke>|(?=<invoke\s)", re.IGNORECASE)
INVOKE = r"<invoke\s{1,8}name\s{0,8}=\s{0,8}[^<>\n]{1,160}>"
OPENER = re.compile(
    rf"(?P<tag>{BOUNDARY.pattern})|(?P<fence>``` ?{_NAME} {{0,8}}\r?\n)"
    rf"|(?P<json>``` ?json {{0,8}}\r?\n)|(?P<invoke>{INVOKE})",
    re.IGNORECASE,
)
LONGEST = 256
"""Characters that an opening or a closing tag may take, at most."""

_CLOSING = re.compile("<[| ]{0,2}/|<[^|].*[|] ?>$")
_QUOTED = re.compile(
    "<(?=[|/ ]{0,3}(?:call:)?tool[_-]?(?:calls?|results?)|/?tools>)", re.IGNORECASE
)


def closes(tag: str) -> bool:
    """Whether a tag can only be the end of a call: a slash at its head, a pipe at its end."""
    return bool(_CLOSING.match(tag))


def quoted(text: str) -> str:
    """A text that stands inside an envelope: what would open or close one is rewritten."""
    return _QUOTED.sub("&lt;", text)


def quoted_json(text: str) -> str:
    """The same for JSON, whose strings can say the same otherwise."""
    return _QUOTED.sub(r"\\u003c", text)


def attribute(value: str) -> str:
    """The value of an attribute, in quotes."""
    for plain, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        value = value.replace(plain, escaped)
    return f'"{value}"'


def result(name: str, identifier: str, body: str) -> str:
    """What a tool returned, in its envelope."""
    opened = f"<tool_result name={attribute(name)} tool_call_id={attribute(identifier)}>"
    return f"{opened}\n{quoted(body)}\n</tool_result>"


def _partial(atoms: Sequence[str]) -> str:
    """A pattern of every beginning of these atoms that goes up to the end of a text."""
    pattern = ""
    for atom in reversed(atoms):
        pattern = f"{atom}(?:{pattern})?" if pattern else atom
    return pattern


_TAG_NAME = [*"tool", "[_-]?", *"call", "s?"]
_BEGINNINGS = (
    ["<", _LEAKED, *_TAG_NAME, _LEAKED],
    ["<", _LEAKED, *"call:", *_TAG_NAME, _LEAKED],
    ["`", "`", "`", " ?", *_TAG_NAME, " {0,8}", "\r?"],
    ["`", "`", "`", " ?", *"json", " {0,8}", "\r?"],
    ["<", *"invoke", r"\s{1,8}", *"name", r"\s{0,8}", "=", r"\s{0,8}", r"[^<>\n]{1,160}"],
)
BEGINNING = re.compile(rf"(?:{'|'.join(map(_partial, _BEGINNINGS))})\Z", re.IGNORECASE)
"""The end of a text that may be the beginning of an opening tag."""
_TO_THE_LETTER = [r"\s{0,64}", r"\[?", r"\s{0,64}", "{", r"\s{0,64}", *'"name"', r"\s{0,64}", ":"]
CALL_HEAD = re.compile(rf"{_partial(_TO_THE_LETTER)}(?:\Z|(?<=:))")
"""The head of a block of JSON that may be a call to the letter."""
