"""Texts cut to a number of bytes, never inside what a reader sees as one character."""

import unicodedata

from app.core.codec import Json
from app.core.schema.walk import mapped

_ELLIPSIS = "…"
_JOINER = "\u200d"
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)


def clip(text: str, most_bytes: int) -> str:
    """The text, or its beginning with `…`, in at most so many bytes of UTF-8 (3 at least)."""
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= most_bytes:
        return text
    room = most_bytes - len(_ELLIPSIS.encode())
    while raw[room] & 0xC0 == 0x80:  # the second byte of a character, or a later one
        room -= 1
    end = len(raw[:room].decode("utf-8", "surrogatepass"))
    while end and _is_inside(text, end):
        end -= 1
    return text[:end].rstrip() + _ELLIPSIS


def clipped(schema: Json, most_bytes: int) -> Json:
    """The schema with every description clipped."""
    new = mapped(schema, lambda _, inner: clipped(inner, most_bytes))
    if isinstance(text := new.get("description"), str):
        new["description"] = clip(text, most_bytes)
    return new


def _is_inside(text: str, at: int) -> bool:
    """Whether a cut here parts a letter from its accent, or an emoji from what changes it."""
    before, after = text[at - 1], text[at]
    if before == _JOINER or after == _JOINER:
        return True
    if ord(after) in _SKIN_TONES or unicodedata.category(after).startswith("M"):
        return True
    if ord(after) not in _FLAG_LETTERS:
        return False
    letters = 0  # two of them are one flag
    while letters < at and ord(text[at - 1 - letters]) in _FLAG_LETTERS:
        letters += 1
    return letters % 2 == 1
