"""Text into comparable words: identifiers are split, stop words dropped, the rest stemmed."""

import re
import unicodedata
from functools import lru_cache

from Stemmer import Stemmer

_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0e7f"
_RUN = re.compile(rf"[^\W_{_CJK}]+|[{_CJK}]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-zA-Z])(?=[0-9])")
_IS_CJK = re.compile(f"[{_CJK}]")
_LONGEST_JOIN = 4
"""Parts of an identifier that is also kept whole: `GitHub` is `git`, `hub` and `github`."""

_stem = Stemmer("english")

_SAID_AROUND = """
    a about all am an and any are as at be been being but by can could did do does doing for
    from give had has have having hello help hey hi how i if in into is it its just know
    let lets like may me might more most must my need needed needs no nor not of on only or
    other our ours over please shall she should so some such tell than thank thanks that the
    their them then there these they this those to too under up us use used using very via
    want wanted wants was we were what when where which who whom whose why will with without
    would you your yours
"""
_LINKING = """
    a an and are as at be by for from if in is it its of on or so than that the then these
    this those to with
"""
STOP_WORDS = frozenset(_SAID_AROUND.split())
"""Dropped from a query: what people say around the thing they ask for."""
LINKING_WORDS = frozenset(_LINKING.split())
"""Dropped from a tool's text, which is terse already."""


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The stem of a lower-case English word; other words come back as they are."""
    return str(_stem.stemWord(word))


def words(text: str, drop: frozenset[str] = frozenset(), *, joins: bool = False) -> list[str]:
    """The stems of a text in order. With `joins`, an identifier's whole form as well."""
    found = []
    for run in _RUN.findall(_plain(text)):
        found += [stem(part) for part in _parts(run, joins) if part not in drop]
    return found


def _plain(text: str) -> str:
    """Without accents; full-width letters become ordinary ones."""
    if text.isascii():
        return text
    if _IS_CJK.search(text):
        return unicodedata.normalize("NFKC", text)
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(c for c in decomposed if not unicodedata.combining(c))


@lru_cache(maxsize=100_000)
def _parts(run: str, joins: bool) -> tuple[str, ...]:
    if _IS_CJK.match(run):  # no spaces between words: pairs of characters stand for them
        return tuple(run) + tuple(run[at : at + 2] for at in range(len(run) - 1))
    parts = [part.lower() for part in _HUMP.split(run)]
    if joins and 1 < len(parts) <= _LONGEST_JOIN:
        parts.append(run.lower())
    return tuple(parts)
