import json

import pytest

from app.core.body import Malformed
from app.core.conversation import Conversation, extended, instructed, last_request
from tests.builders import call, dumps

HISTORY = [
    {"role": "user", "content": [{"type": "text", "text": "Do"}, {"type": "image_url"}]},
    {"role": "assistant", "content": None, "tool_calls": [call("1", "b"), call("2", "a")]},
    {"role": "tool", "tool_call_id": "1", "content": "x"},
    {"role": "assistant", "tool_calls": None},
    {"role": "assistant", "tool_calls": [call("3", "b"), {"id": "4", "custom": {"name": "c"}}]},
]


def test_called_tools_come_in_order_of_their_first_call() -> None:
    assert Conversation.read(dumps(HISTORY)).called == ("b", "a", "c")


ODD = {
    "no list": b"{}",
    "calls that are no list": b'[{"tool_calls":"x"}]',
    "a name that is no string": b'[{"tool_calls":[{"function":{"name":1}}]}]',
    "messages that are no objects": b"[1]",
}


@pytest.mark.parametrize("messages", ODD.values(), ids=ODD)
def test_messages_that_we_do_not_understand(messages: bytes) -> None:
    with pytest.raises(Malformed, match="messages-malformed"):
        Conversation.read(messages)


EXTENDED = {
    "behind what was there": (b' [ {"a":1.10} ] ', b' [ {"a":1.10},{"b":2}]'),
    "into an empty list": (b"[ ]", b'[{"b":2}]'),
}


@pytest.mark.parametrize(("before", "after"), EXTENDED.values(), ids=EXTENDED)
def test_messages_are_appended(before: bytes, after: bytes) -> None:
    assert extended(before, [{"b": 2}]) == after
    assert extended(before, []) == before


def test_a_text_goes_to_the_end_of_the_first_instruction() -> None:
    raw = b'[ {"role":"system","content":"Be brief.","x":1.10}, {"role":"user","content":"q"}]'
    rewritten = instructed(raw, "Tools: a")
    assert rewritten == raw.replace(b'"Be brief."', b'"Be brief.\\n\\nTools: a"')


def test_an_instruction_in_parts_gets_a_part() -> None:
    parts = [{"type": "text", "text": "Be brief."}]
    raw = dumps([{"role": "developer", "content": parts}])
    assert json.loads(instructed(raw, "T") or b"")[0]["content"] == [
        *parts,
        {"type": "text", "text": "T"},
    ]


@pytest.mark.parametrize(
    "first", [None, {"role": "user", "content": "q"}, {"role": "system", "content": None}, 1]
)
def test_no_instruction_is_made_up(first: object) -> None:
    assert instructed(dumps([] if first is None else [first]), "T") is None


def test_the_last_request_is_the_last_user_message() -> None:
    assert last_request(dumps(HISTORY)).strip() == "Do"
    assert last_request(dumps([{"role": "user", "content": "a"}, {"role": "assistant"}])) == "a"
    assert last_request(b"[]") == ""
