import json
from typing import Any

from app.core.answer import Answer
from app.core.conversation import Conversation
from app.core.exchange import Exchange
from app.core.memory import Record
from app.core.restore import restore
from tests.builders import call, search
from tests.core.test_terms import terms

FOUND = Exchange(
    {"content": ""}, [search("s1", "weather")], [Answer("found", names=("get_weather",))]
)
HISTORY = (
    b'[{"role":"user","content":"q"} , {"role":"assistant","content":"Hm. Here.","tool_calls":'
    + json.dumps([call("c1", "get_weather", {"city": "Oslo"})]).encode()
    + b'},  {"role":"tool","tool_call_id":"c1","content":"\\u00e9 1.10"}]'
)


def restored(record: Record | None, raw: bytes = HISTORY, **policy: Any) -> bytes:
    """The messages, with a record under the key of the turn that ended in a call."""
    conversation = Conversation.read(raw)
    keys = [key for key in conversation.keys if key]
    records = {keys[0]: record} if record else {}
    return restore(conversation, records, terms(**policy)).raw


def test_without_a_record_not_a_byte_changes() -> None:
    assert restored(None) == HISTORY


def test_an_exchange_stands_right_behind_the_message_before() -> None:
    raw = restored(Record([FOUND]))
    assert raw.startswith(b'[{"role":"user","content":"q"},{"role":"assistant","content":""')
    assert raw.endswith(HISTORY[HISTORY.index(b' , {"role":"assistant"') :])


def test_words_that_stand_in_an_exchange_are_taken_from_the_message() -> None:
    raw = restored(Record([FOUND], spoken="Hm. "))
    assert json.loads(raw)[3]["content"] == "Here."


def test_at_the_head_of_the_array_it_comes_first() -> None:
    headless = b"[" + HISTORY[HISTORY.index(b'{"role":"assistant"') :]
    roles = [m["role"] for m in json.loads(restored(Record([FOUND]), headless))]
    assert roles == ["assistant", "tool", "assistant", "tool"]


def test_discoveries_are_in_order() -> None:
    conversation = Conversation.read(HISTORY)
    records = {conversation.keys[1] or "": Record([FOUND], ["crm__read_deal"])}
    found = restore(conversation, records, terms())
    assert found.discovered == ("crm__read_deal", "get_weather")
    assert found.found == {"get_weather": {}}


def test_with_wrap_calls_are_folded_back_and_their_tool_is_shown_before() -> None:
    messages = json.loads(restored(None, strategy="wrap"))
    assert [m["role"] for m in messages] == ["user", "assistant", "tool", "assistant", "tool"]
    [folded] = messages[3]["tool_calls"]
    assert folded["id"] == "c1"
    assert json.loads(folded["function"]["arguments"]) == {
        "name": "get_weather",
        "arguments": {"city": "Oslo"},
    }


def test_what_an_exchange_has_shown_is_not_shown_again() -> None:
    messages = json.loads(restored(Record([FOUND]), strategy="wrap"))
    made = [c["id"] for m in messages for c in m.get("tool_calls", [])]
    assert made == ["s1", "c1"]


def test_nothing_is_put_into_a_conversation_that_is_signed() -> None:
    signed = HISTORY.replace(b'"id": "c1"', b'"extra_content": {"s": 1}, "id": "c1"')
    assert len(json.loads(restored(None, signed, strategy="wrap"))) == 3
    thinking = HISTORY.replace(b'"content":"Hm.', b'"reasoning_content":"x","content":"Hm.')
    assert len(json.loads(restored(None, thinking, strategy="wrap"))) == 3
