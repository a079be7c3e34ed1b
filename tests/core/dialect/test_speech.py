"""A reply in a dialect, read as chunks with calls."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.chunks import DONE, END, Chunk, as_chunk, as_completion, fold
from app.core.codec import Json
from app.core.dialect.speech import Speech
from app.core.errors import BadRequest
from tests.builders import body, dumps, reply, streamed
from tests.core.dialect.builders import KNOWN, TOOLS

CALL = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'
OSLO = {"name": "get_weather", "arguments": '{"city": "Oslo"}'}


def speech(dialect: Any = "json_tag", **members: Any) -> Speech:
    spoken = Speech(body(TOOLS, **members), dialect)
    assert spoken.next_request()
    return spoken


def told(spoken: Speech, *chunks: Json, end: Chunk = DONE) -> list[Json]:
    out = [one for chunk in chunks for one in spoken.receive([Chunk(chunk)])]
    out += spoken.receive([end])
    return [one.data for one in out if one.data]


def whole(chunks: list[Json]) -> Json:
    completion: Json = as_completion(fold(chunks))["choices"][0]
    return completion


def calls(chunks: list[Json]) -> list[Json]:
    made: list[Json] = whole(chunks)["message"].get("tool_calls") or []
    return [one[one["type"]] for one in made]


def test_a_buffered_reply() -> None:
    (chunk,) = told(speech(), as_chunk(reply(f"Look. {CALL}")))
    choice = as_completion(chunk)["choices"][0]
    (made,) = choice["message"].pop("tool_calls")
    assert choice["message"] == {"role": "assistant", "content": "Look. "}
    assert choice["finish_reason"] == "tool_calls"
    assert made["id"].startswith("call_")
    assert made == {"id": made["id"], "type": "function", "function": OSLO}


def test_words_alone_are_the_very_chunk() -> None:
    chunk = Chunk(as_chunk(reply("Hello")), b"raw")
    assert speech().receive([chunk, DONE]) == [chunk, DONE]


def test_a_call_alone_has_no_content() -> None:
    (chunk,) = told(speech(), as_chunk(reply(CALL)))
    assert as_completion(chunk)["choices"][0]["message"]["content"] is None


def test_a_stream_is_well_formed() -> None:
    chunks = told(speech(), *streamed(reply(f"Look. {CALL}\n{CALL}\n")))
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    assert [c["delta"]["role"] for c in choices if "role" in c["delta"]] == ["assistant"]
    assert [c["finish_reason"] for c in choices if c["finish_reason"]] == ["tool_calls"]
    fragments = [f for c in choices for f in c["delta"].get("tool_calls", [])]
    assert [f["index"] for f in fragments] == [0, 1]
    assert len({f["id"] for f in fragments}) == 2
    assert chunks[-1]["usage"]
    assert whole(chunks)["message"]["content"] == "Look. "


def test_a_call_leaves_when_it_is_whole() -> None:
    spoken = speech()
    head = as_chunk(reply(CALL))
    head["choices"][0] |= {"finish_reason": None, "delta": {"content": CALL + "\nNext"}}
    ((only,),) = [spoken.receive([Chunk(head)])]
    assert only.data["choices"][0]["delta"]["tool_calls"][0]["function"] == OSLO
    assert only.data["choices"][0]["delta"]["content"] == "\nNext"


def test_ids_are_those_of_the_conversation() -> None:
    def ids(**members: Any) -> list[str]:
        made = whole(told(speech(**members), as_chunk(reply(CALL + CALL))))["message"]["tool_calls"]
        return [one["id"] for one in made]

    assert ids() == ids()
    assert len(set(ids())) == 2
    assert set(ids()).isdisjoint(ids(text="Another"))


def test_several_choices() -> None:
    one, two = reply(CALL)["choices"][0], {**reply("Words")["choices"][0], "index": 1}
    chunk = as_chunk({**reply(""), "choices": [one, two]})
    (only,) = told(speech(n=2, tool_choice="required"), chunk)
    first, second = as_completion(only)["choices"]
    assert first["message"]["tool_calls"][0]["function"] == OSLO
    assert (second["message"]["content"], second["finish_reason"]) == ("Words", "stop")


def test_a_reply_that_is_cut_off_loses_no_words() -> None:
    cut = CALL[:30]
    chunks = [c for c in streamed(reply(f"Look. {cut}")) if not c["choices"] or (
        c["choices"][0]["finish_reason"] is None)]  # fmt: skip
    for end in (DONE, END):
        assert whole(told(speech(), *chunks, end=end))["message"]["content"] == f"Look. {cut}"
    limited = as_chunk(reply(cut, finish="length"))
    assert whole(told(speech(), limited))["finish_reason"] == "length"


def test_a_finish_reason_that_is_missing_is_given_where_calls_were_made() -> None:
    chunks = [c for c in streamed(reply(CALL)) if c["choices"] and (
        c["choices"][0]["finish_reason"] is None)]  # fmt: skip
    assert whole(told(speech(), *chunks))["finish_reason"] == "tool_calls"


def test_a_second_call_is_left_out_where_the_client_takes_one() -> None:
    assert calls(told(speech(parallel_tool_calls=False), as_chunk(reply(CALL + CALL)))) == [OSLO]


def test_a_call_under_none_is_neither_made_nor_shown() -> None:
    choice = whole(told(speech(tool_choice="none"), as_chunk(reply(f"Well. {CALL}"))))
    assert choice["message"]["content"] == "Well. "
    assert choice["finish_reason"] == "stop"


def test_a_named_tool_ends_with_stop_as_at_openai() -> None:
    named = {"type": "function", "function": {"name": "get_weather"}}
    choice = whole(told(speech(tool_choice=named), as_chunk(reply(CALL))))
    assert choice["finish_reason"] == "stop"


def test_a_stop_sequence_of_ours_ends_the_words() -> None:
    chunks = told(speech(stop="\n"), *streamed(reply(f"{CALL} One\ntwo")))
    assert whole(chunks)["message"]["content"] == " One"
    assert chunks[-1]["usage"]


def frames(text: str, framing: str) -> Iterator[Json]:
    return iter([as_chunk(reply(text))]) if framing == "buffered" else streamed(reply(text))


@pytest.mark.parametrize("framing", ["buffered", "streamed"])
def test_a_reply_without_the_call_that_is_required_is_asked_for_again(framing: str) -> None:
    spoken = speech(tool_choice="required")
    assert told(spoken, *frames("I would call it.", framing)) == []
    again = spoken.next_request()
    assert again
    assert json.loads(again)["messages"][-2:-1] == [
        {"role": "assistant", "content": "I would call it."}
    ]
    chunks = told(spoken, *frames(CALL, framing))
    assert calls(chunks) == [OSLO]
    assert not whole(chunks)["message"]["content"]
    assert fold(chunks)["usage"]["total_tokens"] == 22
    assert spoken.next_request() is None


def test_it_is_asked_for_once() -> None:
    spoken = speech(tool_choice="required")
    told(spoken, as_chunk(reply("No.")))
    assert spoken.next_request()
    assert whole(told(spoken, as_chunk(reply("Still no."))))["message"]["content"] == "Still no."
    assert spoken.next_request() is None


def test_a_first_reply_is_better_than_none() -> None:
    spoken = speech(tool_choice="required")
    told(spoken, as_chunk(reply("No.")))
    assert [chunk.data for chunk in spoken.give_up() if chunk.data] == [as_chunk(reply("No."))]
    assert speech().give_up() == []


JSON = {"type": "json_object"}


@pytest.mark.parametrize("framing", ["buffered", "streamed"])
def test_an_answer_that_is_not_json_is_asked_for_again(framing: str) -> None:
    spoken = speech(response_format=JSON)
    assert told(spoken, *frames("It rains.", framing)) == []
    again = spoken.next_request()
    assert again
    assert json.loads(again)["response_format"] == JSON
    assert whole(told(spoken, *frames("{}", framing)))["message"]["content"] == "{}"


def test_an_answer_in_json_or_a_call_is_taken() -> None:
    assert whole(told(speech(response_format=JSON), *streamed(reply(' {"a":1}'))))
    spoken = speech(response_format=JSON)
    assert calls(told(spoken, *streamed(reply(f"Look. {CALL}")))) == [OSLO]
    assert spoken.next_request() is None


def recovering(**members: Any) -> Speech:
    spoken = Speech(body(TOOLS[:1], **members), "native", KNOWN.get)
    assert spoken.next_request() == body(TOOLS[:1], **members)
    return spoken


def test_a_call_that_a_native_model_narrates_is_recovered() -> None:
    chunks = told(recovering(), *streamed(reply(f"Look. {CALL}")))
    assert calls(chunks) == [OSLO]
    assert whole(chunks)["finish_reason"] == "tool_calls"
    ping = '<tool_call>{"name": "ping"}</tool_call>'
    assert calls(told(recovering(), as_chunk(reply(ping)))) == [{"name": "ping", "arguments": "{}"}]


def test_native_calls_stay_and_what_follows_them_is_text() -> None:
    native = {"id": "n", "type": "function", "function": {"name": "ping", "arguments": "{}"}}
    assert told(recovering(), *streamed(reply("Look. ", native))) == list(
        streamed(reply("Look. ", native))
    )
    both = reply(f"{CALL} ", native)
    made = whole(told(recovering(), *streamed(both)))["message"]["tool_calls"]
    assert [one["function"]["name"] for one in made] == ["get_weather", "ping"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just(CALL),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "index",
                    "content",
                    "finish_reason",
                    "tool_calls",
                    "usage",
                    "id",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
odd = st.dictionaries(st.sampled_from(["choices", "usage", "id"]), values, max_size=3)


@given(st.lists(odd, max_size=4), st.sampled_from(["json_tag", "pformat", "native"]))
def test_no_reply_of_any_shape_fails(chunks: list[Json], dialect: Any) -> None:
    spoken = Speech(body(TOOLS, tool_choice="required"), dialect)
    while spoken.next_request():
        told(spoken, *chunks)


@given(st.dictionaries(st.sampled_from(["messages", "tools", "tool_choice", "stop", "n"]), values))
def test_what_cannot_be_read_goes_out_as_it_is(request_: Json) -> None:
    try:
        spoken = Speech(dumps(request_), "json_tag")
    except BadRequest:
        return
    assert spoken.next_request()
