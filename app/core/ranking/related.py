"""Other words for a query word, which tools may use instead.

    synonyms, written by hand            recall@5 +.022, MRR +.012, most in indirect queries
    a thesaurus, distilled from a model  recall@5 +.005, MRR +.009

`synonyms.txt` and `thesaurus.txt` say where they come from and how they are read.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType

from app.core.ranking.words import stem

_SYNONYM = 0.4
"""What a synonym counts of the word itself."""
_TWENTIETH = 0.05
"""What one step of a thesaurus weight counts."""


def _lines(name: str) -> Iterator[str]:
    for line in files(__package__).joinpath(name).read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line


def _read_synonyms() -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for line in _lines("synonyms.txt"):
        said, arrow, meant = line.partition(">")
        heads = [stem(word) for word in said.split()]
        tails = {stem(word) for word in meant.split()} if arrow else {*heads}
        for head in heads:
            found[head] |= tails - {head}
    return dict(found)


def _read_thesaurus() -> Mapping[str, str]:
    """Each word with the rest of its line, which is read when it is asked for: few ever are."""
    entries = (line.partition(" ") for line in _lines("thesaurus.txt"))
    return {word: others for word, _, others in entries}


_SYNONYMS = _read_synonyms()
_THESAURUS = _read_thesaurus()


@lru_cache(maxsize=8192)
def related(word: str) -> Mapping[str, float]:
    """Stems that mean nearly the same, each with what it counts of the word itself."""
    found = {entry[:-1]: int(entry[-1]) * _TWENTIETH for entry in _THESAURUS.get(word, "").split()}
    found.update(dict.fromkeys(sorted(_SYNONYMS.get(word, ())), _SYNONYM))
    return MappingProxyType(found)
