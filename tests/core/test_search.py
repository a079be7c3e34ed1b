import json
from typing import Any

import pytest

from app.core.answer import Answer
from app.core.calls import Call
from app.core.catalog import compile_catalog
from app.core.hits import Hit, Ranked
from app.core.policy import Policy
from app.core.search import Search, find, rank, read_search
from app.core.shape import Shape, compile_shape
from tests.builders import CATALOG, dumps


def called(arguments: str) -> Search:
    call = Call(id="s1", name="tool_search")
    call.add({"function": {"arguments": arguments}})
    return read_search(call)


ARGUMENTS: dict[str, tuple[str, tuple[str, ...], int | None]] = {
    "as it should be": ('{"queries":["geo","map"],"limit":3}', ("geo", "map"), 3),
    "one text": ('{"queries":"geo"}', ("geo",), None),
    "a text without end": ("{" * 5_000_000, (), None),
    "a query without end": (json.dumps({"query": "x" * 5_000_000}), ("x" * 1_000,), None),
    "`query`": ('{"query":"geo"}', ("geo",), None),
    "`query` as a list": ('{"query":["geo","map"]}', ("geo", "map"), None),
    "`query` as an object": ('{"query":{"text":"geo"}}', ("geo",), None),
    "an empty list beside `query`": ('{"queries":[],"query":"geo"}', ("geo",), None),
    "another member": ('{"q":"geo","limit":"2"}', ("geo",), 2),
    "a list in a string": ('{"queries":"[\\"geo\\",\\"map\\"]"}', ("geo", "map"), None),
    "JSON in a string": ('"{\\"query\\":\\"geo\\"}"', ("geo",), None),
    "JSON in a string in a string": (
        json.dumps(json.dumps(json.dumps({"query": "geo"}))),
        ("geo",),
        None,
    ),
    "a bare string": ('"geo"', ("geo",), None),
    "a bare list": ('["geo"]', ("geo",), None),
    "no JSON at all": ("geo tools", ("geo tools",), None),
    "cut off in a text": ('{"query": "geo', ("geo",), None),
    "cut off behind a text": ('{"query": "geo"', ("geo",), None),
    "numbers": ('{"queries":[404, 1.5]}', ("404", "1.5"), None),
    "the same twice": ('{"queries":["geo"," geo ",""]}', ("geo",), None),
    "select": ('{"queries":["select:a, b"]}', ("a", "b"), None),
    "a limit that is none": ('{"query":"geo","limit":"many"}', ("geo",), None),
    "a huge limit": ('{"query":"geo","limit":1e999999999}', ("geo",), 20),
    "a limit of many digits": ('{"query":"geo","limit":' + "9" * 5_000 + "}", ("geo",), None),
    "nothing": ("", (), None),
    "an empty object": ("{}", (), None),
    "null": ("null", (), None),
    "true": ('{"queries":[true,null]}', (), None),
    "the start of an object": ('{"query": ', (), None),
    "too many": (json.dumps([str(n) for n in range(99)]), tuple(str(n) for n in range(16)), None),
    "too deep": ("[" * 9 + '"geo"' + "]" * 9, (), None),
}


@pytest.mark.parametrize(("text", "queries", "limit"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_whatever_the_model_writes_is_read(
    text: str, queries: tuple[str, ...], limit: int | None
) -> None:
    search = called(text)
    assert (search.queries, search.limit) == (queries, limit)


def shape(**policy: Any) -> Shape:
    return compile_shape(compile_catalog(dumps(CATALOG), len), Policy(**policy), len)


def found(*queries: str, budget: int = 100_000, limit: int = 2, asked: int | None = None) -> Answer:
    known = shape()
    made = Search(Call(), queries, asked)
    ranked = Ranked("lexical", rank(known.catalog.index, made, known))
    return find(ranked, made, known.deferred.get, (budget, lambda _: 10), limit, last=False)


def test_each_query_has_its_hits_the_best_of_all_first() -> None:
    best = found("weather", "refund payment", "read contact")
    assert list(best.names)[:3] == ["get_weather", "stripe__refund_payment", "crm__read_contact"]


def test_a_query_that_finds_nothing_is_named() -> None:
    best = found("weather", "quantum", limit=1)
    assert list(best.names) == ["get_weather"]
    assert best.unmatched == ("quantum",)


@pytest.mark.parametrize(("asked", "count"), [(None, 2), (3, 3), (0, 2), (-4, 1), (99, 16)])
def test_the_limit_is_the_models_or_the_policys(asked: int | None, count: int) -> None:
    best = found("crm contact deal lead campaign", limit=2, asked=asked)
    assert len(best.names) == count


def test_tools_are_whole_or_left_out_and_the_first_always_fits() -> None:
    best = found("crm contact", budget=25, limit=5)
    assert len(best.names) == 2
    assert best.truncated
    assert len(found("crm contact", budget=1, limit=5).names) == 1


def test_names_that_a_ranker_invents_are_dropped() -> None:
    made = Search(Call(), ("x",))
    budget = (100, lambda _: 1)
    ranked = Ranked("http", [[Hit("nope", 2.0), Hit("get_weather", 1.0)]])
    best = find(ranked, made, shape().deferred.get, budget, 5, last=False)
    assert list(best.names) == ["get_weather"]
