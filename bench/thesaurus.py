"""`python -m bench.thesaurus DIR`: distil `app/core/ranking/thesaurus.txt` from a model.

Words that a query may hold are the whole words of the model's own vocabulary; words that tools
may answer with are those that at least three tools say in DIR, a folder of JSON files that hold
`tools` (as `bench.retrieval` reads them) or are lists of tools. Two words are as near as their
embeddings, each less the mean of all, which is what every word shares. The model is never needed
at run time.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from app.core.ranking import fields, related
from app.core.ranking.words import STOP_WORDS, stem
from app.core.tools import parse
from bench.minilm import MiniLM

_SAID_BY = 3
_NEIGHBOURS = 14
_NEAREST = 0.75
_NEAR = 0.4
"""Cosines of a full and of the least weight."""
_MOST, _LEAST = 10, 3
"""These weights, in twentieths of what the word itself counts."""
_WORD = re.compile("[A-Z]?[a-z]{2,20}")
_AT_ONCE = 1000
_TARGET = Path(related.__file__).with_name("thesaurus.txt")
_HEAD = """\
# Words and what tools may say instead, with a weight in twentieths of the word's own.
# Distilled from the embeddings of sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0) by
# `python -m bench.thesaurus`; not to be edited. This file: the project's licence.
#
#   word other7 another3
"""


def main(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False)],
    target: Annotated[Path, typer.Option("--to")] = _TARGET,
) -> None:
    """Distil the thesaurus of the default ranker."""
    model = MiniLM()
    said = Counter(word for path in sorted(folder.glob("*.json")) for word in _words(path))
    answers = [word for word, tools in said.items() if tools >= _SAID_BY]
    forms = _by_stem([*answers, *filter(_WORD.fullmatch, model.vocabulary())])
    vectors = model.embed(list(forms.values()))
    vectors -= vectors.mean(axis=0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    stems = list(forms)
    among = np.array([at for at, form in enumerate(forms.values()) if said[form] >= _SAID_BY])
    lines = []
    for start in range(0, len(stems), _AT_ONCE):
        near = vectors[start : start + _AT_ONCE] @ vectors[among].T
        for word, row in zip(stems[start:], near, strict=False):
            best = (
                (stems[among[at]], float(row[at])) for at in np.argsort(-row)[: _NEIGHBOURS + 1]
            )
            others = [f"{other}{_weight(x)}" for other, x in best if x >= _NEAR and other != word]
            if others:
                lines.append(" ".join([word, *others[:_NEIGHBOURS]]))
    target.write_text(_HEAD + "\n".join(sorted(lines)) + "\n")
    print(f"{target}: {len(lines):,} words, {target.stat().st_size:,} bytes")


def _words(path: Path) -> Iterator[str]:
    """The distinct words of each tool in a file, as they are written."""
    held: Any = json.loads(path.read_text())
    for tool in held["tools"] if isinstance(held, dict) else held:
        text = fields.text(parse(json.dumps(tool).encode(), 0))
        yield from {word.lower() for part in text.values() for word in _WORD.findall(part)}


def _by_stem(words: list[str]) -> dict[str, str]:
    """The first form of each stem, without stop words."""
    forms: dict[str, str] = {}
    for word in words:
        if word not in STOP_WORDS and stem(word) not in STOP_WORDS:
            forms.setdefault(stem(word), word)
    return forms


def _weight(nearness: float) -> int:
    step = (min(nearness, _NEAREST) - _NEAR) / (_NEAREST - _NEAR)
    return min(round(_LEAST + step * (_MOST - _LEAST)), 9)


if __name__ == "__main__":
    typer.run(main)
