"""Remote rankers over sockets: good ones, slow, failing, lying and hostile ones."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from app.breaker import Breaker
from app.core.calls import Call
from app.core.catalog import compile_catalog
from app.core.hits import Ranked
from app.core.policy import Policy
from app.core.search import Search
from app.core.shape import Shape, compile_shape
from app.main import create_rankers
from app.rankers.rankers import Rankers
from app.settings import Settings
from tests.builders import CATALOG, dumps, numbered
from tests.endpoints import as_json, embed, named, rerank, vector
from tests.upstream import Raw, Received, Scripted, upstream

CALM = 20.0
"""Seconds that are enough on any machine."""
KINDS = ["embeddings", "rerank", "http"]


def shape(tools: Any = CATALOG, **policy: Any) -> Shape:
    return compile_shape(compile_catalog(dumps(tools), len), Policy(**policy), len)


def names(ranked: Ranked) -> list[list[str]]:
    return [[hit.name for hit in hits] for hits in ranked.served]


@asynccontextmanager
async def rankers(
    url: str, breaker: Breaker | None = None, **settings: Any
) -> AsyncIterator[Rankers]:
    given = {"ranker_url": url, "ranker_model": "small", "ranker_timeout": CALM, **settings}
    made = create_rankers(Settings(**given), breaker)
    try:
        yield made
    finally:
        await made.aclose()


async def ask(made: Rankers, *queries: str, on: Shape | None = None, **policy: Any) -> Ranked:
    return await made.rank(Search(Call(), queries), on or shape(), Policy(**policy))


async def test_embeddings_find_what_shares_no_word_with_the_query() -> None:
    def meaning(received: Received) -> Raw:
        """Zorps and refunds are the same here, and nothing else is."""
        data = [
            {"index": at, "embedding": [1.0, 0.0] if "refund" in text or "zorp" in text else [0, 1]}
            for at, text in enumerate(received.json["input"])
        ]
        return as_json({"data": data})

    known = shape()
    async with upstream(meaning) as behind, rankers(behind.url) as made:
        await made.prepare(known, Policy(ranker="embeddings"))
        ranked = await ask(made, "zorp", on=known, ranker="embeddings")
    assert names(ranked)[0][0] == "stripe__refund_payment"
    assert (ranked.ranker, ranked.fallback) == ("embeddings", None)
    assert not ranked.by_ranker["lexical"][0]


async def test_tools_are_embedded_once_in_batches_off_the_request() -> None:
    first, again = shape(numbered(70)), shape(numbered(71))
    async with upstream(embed) as behind, rankers(behind.url, ranker_key="k") as made:
        for known in (first, again):
            made.warm(known, Policy(ranker="embeddings"))
            cold = await ask(made, "t01", on=known, ranker="embeddings")
            assert (cold.ranker, cold.fallback) == ("lexical", "cold")
            async with asyncio.timeout(CALM):
                while (await ask(made, "geo", on=known, ranker="embeddings")).fallback == "cold":  # noqa: ASYNC110
                    await asyncio.sleep(0)
    batches = [len(one["input"]) for one in behind.requests if one["input"] != ["geo"]]
    assert batches == [32, 32, 6, 1]
    assert {one["model"] for one in behind.requests} == {"small"}
    assert behind.received[0].header("authorization") == ["Bearer k"]


async def test_rerank_reads_the_lexical_rankers_first() -> None:
    known = shape(numbered(150) + CATALOG)
    async with upstream(rerank) as behind, rankers(behind.url) as made:
        ranked = await ask(made, "weather in a city.", "refund", on=known, ranker="rerank")
    assert names(ranked)[0][0] == "get_weather"
    assert len(names(ranked)) == 2
    assert {len(one["documents"]) for one in behind.requests} == {100}
    assert behind.received[0].target == "/v1/rerank"


async def test_a_plain_ranker_gets_names_and_descriptions_and_its_confidence_counts() -> None:
    script = named("get_weather", "crm__read_deal")
    async with upstream(script) as behind, rankers(behind.url + "/x") as made:
        ranked = await ask(made, "umbrella", ranker="http")
    [sent] = behind.requests
    assert sent["query"] == "umbrella"
    assert {"name": "get_weather", "description": "Current weather in a city."} in sent[
        "candidates"
    ]
    assert behind.received[0].target == "/v1/x"
    assert names(ranked) == [["get_weather", "crm__read_deal"]]
    assert ranked.confidence == 1


async def test_what_is_not_deferred_is_neither_sent_nor_found() -> None:
    policy = {"hidden": ("crm__*",), "direct": ("get_weather",)}
    known = shape(**policy)
    script = named("crm__read_deal", "get_weather", "nope", "github__create_issue", "nope")
    async with upstream(script) as behind, rankers(behind.url) as made:
        ranked = await ask(made, "x", on=known, ranker="http")
    sent = {one["name"] for one in behind.requests[0]["candidates"]}
    assert sent == {"github__create_issue", "stripe__refund_payment"}
    assert names(ranked) == [["github__create_issue"]]


@pytest.mark.parametrize("query", ["crm__read_deal", "crm-read-deal", "CrmReadDeal"])
async def test_an_exact_name_comes_first_whoever_ranks(query: str) -> None:
    async with upstream(named("get_weather", "crm__read_deal")) as b, rankers(b.url) as made:
        ranked = await ask(made, query, ranker="http")
    assert names(ranked) == [["crm__read_deal", "get_weather"]]


GOOD: dict[str, Scripted] = {"embeddings": embed, "rerank": rerank, "http": named("get_weather")}
NOT_JSON = Raw(b"<html>", content_type="text/html")
BAD: dict[str, tuple[Scripted, str]] = {
    "an error": (500, "refused"),
    "a wrong key": (401, "refused"),
    "a redirect": (Raw(status=307, headers={"location": "http://127.0.0.1:1/"}), "refused"),
    "no JSON": (NOT_JSON, "malformed"),
    "half a JSON": (Raw(b'{"data": [{"ind', content_type="application/json"), "malformed"),
    "another shape": (as_json([1, 2]), "malformed"),
    "nothing": (as_json({}), "malformed"),
    "not a number": (
        Raw(b'{"data":[{"index":0,"embedding":[NaN]}],"results":[{"index":0,"relevance_score":NaN}'
            b'],"tools":[{"name":"get_weather","confidence":NaN}]}'),
        "malformed",
    ),
    "too deep": (Raw(b'{"data":' + b"[" * 100_000), "malformed"),
    "compressed": (Raw(b"\x1f\x8b\x08", headers={"content-encoding": "gzip"}), "malformed"),
    "cut off": (Raw(b'{"data":', cut=True), "unreachable"),
    "names that are numbers": (as_json({"tools": [{"name": 1, "confidence": 1}]}), "malformed"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("script", "why"), BAD.values(), ids=BAD)
async def test_a_ranker_that_fails_is_replaced_and_the_reason_told(
    kind: str, script: Scripted, why: str
) -> None:
    known = shape()
    async with upstream(GOOD[kind]) as behind, rankers(behind.url) as made:
        if kind == "embeddings":
            await made.prepare(known, Policy(ranker="embeddings"))
        behind.script = [script]
        ranked = await ask(made, "refund payment", on=known, ranker=kind)
    assert (ranked.ranker, ranked.fallback) == ("lexical", why)
    assert names(ranked)[0][0] == "stripe__refund_payment"


def vectors(*rows: list[float], indexes: tuple[int, ...] = ()) -> Raw:
    pairs = enumerate(rows) if not indexes else zip(indexes, rows, strict=True)
    return as_json({"data": [{"index": at, "embedding": row} for at, row in pairs]})


LIES: dict[str, Raw] = {
    "too few": vectors(),
    "too many": vectors(vector("a"), vector("b")),
    "an index twice": vectors(vector("a"), vector("b"), indexes=(0, 0)),
    "an index that there is not": vectors(vector("a"), indexes=(7,)),
    "no numbers": vectors([]),
    "endless numbers": Raw(b'{"data":[{"index":0,"embedding":[1e39,1e39]}]}'),
    "a million numbers": vectors([0.5] * 1_000_000),
}


@pytest.mark.parametrize("script", LIES.values(), ids=LIES)
async def test_vectors_that_cannot_be_are_refused(script: Raw) -> None:
    known = shape()
    async with upstream(embed) as behind, rankers(behind.url) as made:
        await made.prepare(known, Policy(ranker="embeddings"))
        behind.script = [script]
        ranked = await ask(made, "refund payment", on=known, ranker="embeddings")
    assert (ranked.ranker, ranked.fallback) == ("lexical", "malformed")


async def test_another_model_behind_the_same_name_is_noticed() -> None:
    known = shape()

    def larger(received: Received) -> Raw:
        texts = received.json["input"]
        return vectors(*(vector(text, 128) for text in texts))

    async with upstream(embed) as behind, rankers(behind.url) as made:
        await made.prepare(known, Policy(ranker="embeddings"))
        behind.script = [larger]
        first = await ask(made, "refund payment", on=known, ranker="embeddings")
        await made.prepare(known, Policy(ranker="embeddings"))
        second = await ask(made, "refund payment", on=known, ranker="embeddings")
    assert (first.fallback, second.fallback) == ("cold", None)


async def test_hits_out_of_range_and_twice_are_dropped() -> None:
    results = [{"index": at, "relevance_score": 1} for at in (-1, 10**6, 0, 0)]
    async with upstream(as_json({"results": results})) as behind, rankers(behind.url) as made:
        ranked = await ask(made, "refund payment", ranker="rerank")
    assert names(ranked) == [["stripe__refund_payment"]]


async def test_a_ranker_that_finds_nothing_is_replaced_for_that_query() -> None:
    def only_rain(received: Received) -> Raw:
        return named("get_weather") if received.json["query"] == "rain" else named()

    async with upstream(only_rain) as behind, rankers(behind.url) as made:
        ranked = await ask(made, "rain", "refund payment", "quantum", ranker="http")
    assert [hits[:1] for hits in names(ranked)] == [
        ["get_weather"],
        ["stripe__refund_payment"],
        [],
    ]
    assert (ranked.ranker, ranked.fallback) == ("http", "nothing-found")


@pytest.mark.parametrize("kind", ["rerank", "http"])
async def test_a_search_waits_no_longer_than_it_may_and_then_not_at_all(kind: str) -> None:
    never = Raw(before_head=asyncio.Event())
    async with upstream(never) as behind, rankers(behind.url, ranker_timeout=0.05) as made:
        first = await ask(made, "refund payment", ranker=kind)
        second = await ask(made, "refund payment", ranker=kind)
    assert (first.fallback, second.fallback) == ("timeout", "unreachable")
    assert len(behind.received) == 1


async def test_a_ranker_that_works_again_is_asked_again() -> None:
    now = 0.0
    breaker = Breaker(lambda: now)
    script = (500, named("get_weather"))
    async with upstream(*script) as behind, rankers(behind.url, breaker) as made:
        failed = await ask(made, "x", ranker="http")
        now = 60.0
        worked = await ask(made, "x", ranker="http")
    assert (failed.fallback, worked.fallback) == ("refused", None)


async def test_a_ranker_that_nobody_listens_for_or_that_is_not_there() -> None:
    async with rankers("http://127.0.0.1:1") as made:
        assert (await ask(made, "refund", ranker="rerank")).fallback == "unreachable"
    assert (
        await ask(Rankers({}, CALM, Breaker()), "refund", ranker="rerank")
    ).fallback == "not-configured"


MODES = [
    ({}, "lexical", ["lexical"]),
    ({"ranker": "bm25"}, "bm25", ["bm25", "lexical"]),
    ({"ranker_mode": "bm25", "ranker": "http"}, "bm25", ["bm25", "lexical"]),
    ({"ranker_mode": "compare"}, "lexical", ["bm25", "lexical"]),
    ({"ranker_mode": "compare", "ranker": "http"}, "http", ["bm25", "http", "lexical"]),
    ({"ranker": "http"}, "http", ["http", "lexical"]),
]


@pytest.mark.parametrize(("policy", "served", "asked"), MODES, ids=[str(m[0]) for m in MODES])
async def test_the_mode_says_who_is_served_and_who_is_asked_too(
    policy: dict[str, Any], served: str, asked: list[str]
) -> None:
    async with upstream(named("crm__read_deal")) as behind, rankers(behind.url) as made:
        ranked = await ask(made, "refund payment", **policy)
    assert (ranked.ranker, sorted(ranked.by_ranker)) == (served, asked)
    assert ranked.served == ranked.by_ranker[served]
