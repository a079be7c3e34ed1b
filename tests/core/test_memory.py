from decimal import Decimal

import pytest

from app.core.answer import Answer
from app.core.exchange import Exchange
from app.core.memory import Record, dump, load
from tests.builders import search

EXCHANGE = Exchange(
    {"content": "Hm.", "reasoning_details": [{"index": 0, "score": Decimal("1.10")}]},
    [search("s1", "weather")],
    [Answer("found", names=("get_weather",), unmatched=("x",), truncated=True, last=True)],
)
RECORDS = {
    "empty": Record(),
    "whole": Record([EXCHANGE], ["get_weather"], "Hm.", EXCHANGE),
    "open calls": Record(mixed=Exchange({}, [search("s1", "x")], [None])),
}


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_a_record_survives_its_bytes(record: Record) -> None:
    assert load(dump(record)) == record


def test_what_its_searches_found_is_known() -> None:
    assert list(Record([EXCHANGE], mixed=EXCHANGE).found) == ["get_weather"]


FOREIGN = [b"", b"x", b"[]", b"1", b'{"exchanges":1}', b'{"exchanges":[{"said":[]}]}', b"[" * 9_999]


@pytest.mark.parametrize("raw", FOREIGN)
def test_what_is_no_record_is_none(raw: bytes) -> None:
    assert load(raw) is None
