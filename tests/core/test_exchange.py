import json

from app.core.answer import Answer
from app.core.exchange import Exchange, shown
from tests.builders import call, search
from tests.core.test_terms import terms

MADE = Exchange(
    {"content": "Hm. ", "reasoning_content": "plan A"},
    [search("s1", "weather"), call("c1", "get_weather"), call("x1", "send fax!")],
    [Answer("found", names=("get_weather",)), None, Answer("unknown", to="tool", name="send fax!")],
)


def test_the_messages_are_the_assistants_and_the_answers_that_are_ours() -> None:
    assistant, *answers = MADE.messages(terms())
    assert (assistant["content"], assistant["reasoning_content"]) == ("Hm. ", "plan A")
    assert [m["tool_call_id"] for m in answers] == ["s1", "x1"]


def test_our_tools_have_the_name_of_this_request_and_others_a_legal_one() -> None:
    calls = MADE.messages(terms())[0]["tool_calls"]
    assert [one["function"]["name"] for one in calls] == ["tool_search", "get_weather", "send_fax_"]


def test_what_its_answers_show_is_known() -> None:
    assert list(MADE.found) == ["get_weather"]


def test_a_search_that_was_never_made_is_the_same_everywhere() -> None:
    one, other = shown(["get_weather"], b"c1"), shown(["get_weather"], b"c1")
    assert one == other
    assert one.calls[0]["id"] != shown(["get_weather"], b"c2").calls[0]["id"]
    assert len(one.calls[0]["id"]) <= 40
    assistant, answered = one.messages(terms(strategy="wrap"))
    arguments = json.loads(assistant["tool_calls"][0]["function"]["arguments"])
    assert arguments == {"queries": ["select:get_weather"]}
    assert json.loads(answered["content"])["tools"][0]["name"] == "get_weather"
