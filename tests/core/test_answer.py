import json

import pytest

from app.core.answer import Answer
from tests.builders import WEATHER
from tests.core.test_terms import terms

FOUND = Answer("found", names=("get_weather",), unmatched=("quantum",), last=True)


def test_an_answer_is_json_with_names_and_what_to_do() -> None:
    said = json.loads(FOUND.text(terms()))
    assert said["tools"] == [{"name": "get_weather", "description": "Current weather in a city."}]
    assert said["unmatched"] == ["quantum"]
    for part in ("declared to you now", "`unmatched`", "last search"):
        assert part in said["note"]


def test_with_wrap_it_shows_the_declaration_as_the_client_wrote_it() -> None:
    text = FOUND.text(terms(strategy="wrap"))
    assert json.dumps(WEATHER["function"]) in text
    assert "`call_tool`" in json.loads(text)["note"]


def test_an_answer_without_tools_says_to_use_other_words() -> None:
    said = json.loads(Answer("found", unmatched=("quantum",)).text(terms()))
    assert said["tools"] == []
    assert "other words" in said["note"]


def test_a_tool_that_is_no_longer_admitted_does_not_come_back() -> None:
    now = terms(hidden=("get_weather",))
    assert "get_weather" not in FOUND.text(now)
    close = Answer("unknown", to="tool", name="weather", names=("get_weather", "crm__read_deal"))
    assert "get_weather" not in close.text(now)
    assert "`crm__read_deal`" in close.text(now)


WORDS = {
    "unread": (Answer("unread"), "crm (16)"),
    "spent": (Answer("spent"), "No search was made"),
    "truncated": (Answer("found", names=("get_weather",), truncated=True), "narrower words"),
    "unknown": (Answer("unknown", to="tool", name="fax"), "no tool called `fax`"),
    "direct": (Answer("direct", to="wrapper", name="think"), "call it directly"),
    "unwrapped": (Answer("unwrapped", to="wrapper"), '{"name": "...", "arguments": {...}}'),
}


@pytest.mark.parametrize(("answer", "says"), WORDS.values(), ids=WORDS)
def test_every_answer_says_what_to_do(answer: Answer, says: str) -> None:
    assert says in answer.text(terms(strategy="wrap"))
