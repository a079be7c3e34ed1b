"""What models really write, and what only looks like it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.dialect.scanner import Scanner
from tests.core.dialect.builders import read

CALL = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
OSLO = ("get_weather", '{"city": "Oslo"}')
ROME = ("get_weather", '{"city": "Rome"}')
IN_ROME = CALL.replace("Oslo", "Rome")
WRITTEN = {
    "as it should be": f"<tool_call>{CALL}</tool_call>",
    "with line ends": f"<tool_call>\n{CALL}\n</tool_call>",
    "without underscore": f"<toolcall>{CALL}</toolcall>",
    "with a dash": f"<tool-call>{CALL}</tool-call>",
    "in capitals": f"<TOOL_CALL>{CALL}</TOOL_CALL>",
    "in the plural": f"<tool_calls>{CALL}</tool_calls>",
    "leaked pipes": f"<|tool_call|>{CALL}<|/tool_call|>",
    "one leaked pipe": f"<|tool_call>{CALL}<tool_call|>",
    "a slash too many": f"</tool_call>{CALL}</tool_call>",
    "a slash too few": f"<tool_call>{CALL}<tool_call>",
    "a slash at the end": f"<tool_call/>{CALL}</tool_call>",
    "call: in the tag": f"<call:tool_call>{CALL}</tool_call>",
    "call: before the body": f"<tool_call>call:{CALL}</tool_call>",
    "call: and a name": '<|tool_call>call:get_weather{"city": "Oslo"}<tool_call|>',
    "like a function": '<tool_call>get_weather({"city": "Oslo"})</tool_call>',
    "a fenced block": f"```tool_call\n{CALL}\n```",
    "a fence closed by a tag": f"```tool_call\n{CALL}\n</tool_call>",
    "a fence in a tag": f"<tool_call>\n```json\n{CALL}\n```\n</tool_call>",
    "a fence of JSON, to the letter": f"```json\n{CALL}\n```",
    "unclosed": f"<tool_call>{CALL}",
    "unclosed fence": f"```tool_call\n{CALL}\n",
    "args": '<tool_call>{"name": "get_weather", "args": {"city": "Oslo"}}</tool_call>',
    "parameters": '<tool_call>{"name": "get_weather", "parameters": {"city": "Oslo"}}</tool_call>',
    "input": '<tool_call>{"name": "get_weather", "input": {"city": "Oslo"}}</tool_call>',
    "arguments first": (
        '<tool_call>{"arguments": {"city": "Oslo"}, "name": "get_weather"}</tool_call>'
    ),
    "arguments as a string": (
        '<tool_call>{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}</tool_call>'
    ),
    "as the API has it": (
        '<tool_call>{"type": "function", "function": {"name": "get_weather", "arguments": '
        '{"city": "Oslo"}}}</tool_call>'
    ),
    "doubled braces": (
        '<tool_call>{{"name": "get_weather", "arguments": {"city": "Oslo"}}}</tool_call>'
    ),
    "a list of one": f"<tool_call>[{CALL.replace(' ', '')}]</tool_call>",
    "invoke": '<invoke name="get_weather"><parameter name="city">Oslo</parameter></invoke>',
    "invoke on lines": (
        '<invoke name="get_weather">\n<parameter name="city">\nOslo\n</parameter>\n</invoke>'
    ),
    "invoke in a tag": (
        '<tool_call><invoke name="get_weather"><parameter name="city">Oslo</parameter></invoke>'
        "</tool_call>"
    ),
    "unclosed invoke": '<invoke name="get_weather"><parameter name="city">Oslo</parameter>',
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_a_call_is_read_however_it_is_written(text: str) -> None:
    words, [(name, arguments)] = read(text)
    assert (words, name, json.loads(arguments)) == ("", "get_weather", {"city": "Oslo"})
    assert read(f"Look. {text}")[0] == "Look. "


SEVERAL = {
    "one after another": f"<tool_call>{CALL}</tool_call><tool_call>{IN_ROME}</tool_call>",
    "on lines": f"<tool_call>{CALL}</tool_call>\n\n<tool_call>{IN_ROME}</tool_call>\n",
    "in one tag": f"<tool_call>{CALL}\n{IN_ROME}</tool_call>",
    "in one tag with a comma": f"<tool_call>{CALL}, {IN_ROME}</tool_call>",
    "the first unclosed": f"<tool_call>{CALL}\n<tool_call>{IN_ROME}</tool_call>",
    "the last unclosed": f"<tool_call>{CALL}</tool_call>\n<tool_call>{IN_ROME}",
}


@pytest.mark.parametrize("text", SEVERAL.values(), ids=SEVERAL)
def test_several_calls(text: str) -> None:
    assert read(text) == ("", [OSLO, ROME])


def test_several_in_a_list() -> None:
    words, calls = read(f"<tool_call>[{CALL}, {IN_ROME}]</tool_call>")
    assert [json.loads(arguments) for _, arguments in calls] == [{"city": "Oslo"}, {"city": "Rome"}]
    assert words == ""


BODY = "<tool_call>{}</tool_call>"
TEXT = {
    "an ordinary answer": CALL,
    "an answer in a fence": f"```json\n{CALL.replace('arguments', 'args')}\n```",
    "an answer with more in it": f'```json\n{CALL[:-1]}, "note": "such"}}\n```',
    "an unknown name in a fence": '```json\n{"name": "send_fax", "arguments": {}}\n```',
    "another JSON in a fence": '```json\n{"a": {"name": "get_weather"}}\n```',
    "an unknown name": '<tool_call>{"name": "send_fax", "arguments": {}}</tool_call>',
    "an unknown name beside a known one": (
        f'<tool_call>{CALL}\n{{"name": "send_fax", "arguments": {{}}}}</tool_call>'
    ),
    "words in a tag": "The tag <tool_call> opens a call and </tool_call> ends it.",
    "broken JSON": '<tool_call>{"name": "get_weather", "arguments": {"city": </tool_call>',
    "cut off": '<tool_call>{"name": "get_weather", "arguments": {"city": "Os',
    "no name": '<tool_call>{"arguments": {"city": "Oslo"}}</tool_call>',
    "arguments that are a list": '<tool_call>{"name": "get_weather", "arguments": [1]}</tool_call>',
    "arguments beside": '<tool_call>{"name": "get_weather", "city": "Oslo"}</tool_call>',
    "not a number": '<tool_call>{"name": "math", "arguments": {"x": NaN}}</tool_call>',
    "nested without end": f"<tool_call>{'[' * 100_000}</tool_call>",
    "an empty tag": "<tool_call></tool_call>",
    "a name alone": "<tool_call>get_weather</tool_call>",
    "invoke of an unknown name": '<invoke name="send_fax"></invoke>',
    "invoke with words": '<invoke name="get_weather">Oslo</invoke>',
    "another tag": "<tool>get_weather</tool> <toolbox> <|tool",
    "a fence of another kind": f"```tool\n{CALL}\n```",
}


@pytest.mark.parametrize("text", TEXT.values(), ids=TEXT)
def test_what_is_no_call_stays_text_whole(text: str) -> None:
    assert read(text) == (text, [])


def test_a_good_call_behind_a_bad_one() -> None:
    text = '<tool_call>{"name: oops}</tool_call> Again: '
    assert read(f"{text}<tool_call>{CALL}</tool_call> Done") == (text + " Done", [OSLO])


def test_words_around_calls_are_kept_and_white_space_between_them_is_not() -> None:
    call = f"<tool_call>{CALL}</tool_call>"
    assert read(f"\n Look.\n{call}\n{call}\n\nDone.\n") == ("\n Look.\n\n\nDone.\n", [OSLO, OSLO])
    assert read(f"\n{call}\n") == ("", [OSLO])
    assert read(" \n ") == (" \n ", [])


def test_a_tag_in_a_string_is_not_one() -> None:
    arguments = '{"command": "echo </tool_call> <tool_call> \\"```\\" </tool_call>"}'
    text = f'<tool_call>{{"name": "shell", "arguments": {arguments}}}</tool_call> Done'
    assert read(text) == (" Done", [("shell", arguments)])


def test_arguments_keep_their_bytes() -> None:
    arguments = '{"x": 1180591620717411303424, "y":1.10,  "z": "\\u00e9\\/"}'
    assert read(f'<tool_call>{{"name": "math", "arguments": {arguments}}}</tool_call>') == (
        "",
        [("math", arguments)],
    )


def test_arguments_that_are_no_object_are_the_models_word() -> None:
    text = '<tool_call>{"name": "shell", "arguments": "{\\"command\\": "}</tool_call>'
    assert read(text) == ("", [("shell", '{"command": ')])


def test_a_line_end_in_a_string_is_mended() -> None:
    text = '<tool_call>{"name": "shell", "arguments": {"command": "a\nb"}}</tool_call>'
    assert json.loads(read(text)[1][0][1]) == {"command": "a\nb"}


def test_a_custom_tool_gets_its_input() -> None:
    text = '<tool_call>{"name": "sql", "arguments": {"input": "SELECT 1"}}</tool_call>'
    assert read(text) == ("", [("sql", "SELECT 1")])


def test_parameters_of_invoke_get_their_types() -> None:
    text = (
        '<invoke name="math"><parameter name="x">3</parameter><parameter name="verbose">True'
        '</parameter><parameter name="y">much</parameter></invoke>'
    )
    assert json.loads(read(text)[1][0][1]) == {"x": 3, "verbose": True, "y": "much"}


def test_text_leaves_as_soon_as_it_cannot_be_a_tag() -> None:
    scanner = Scanner(lambda _: None)
    told = [scanner.feed(piece) for piece in ("a", "<", "b", "<to", "ol_", "x", "``", "`py", "\n")]
    assert told == [["a"], [], ["<b"], [], [], ["<tool_x"], [], ["```py"], ["\n"]]
    assert [*scanner.feed("<tool_call> "), *scanner.feed("is a")] == ["<tool_call>", " is a"]


STOPS = {
    "in words": ("One. END two", ["END"], "One. "),
    "cut": ("One. EN", ["END"], "One. EN"),
    "not in a call": (f"<tool_call>{CALL}</tool_call>", ['"', "\n"], ""),
    "behind a call": (f"<tool_call>{CALL}</tool_call> so\nthen", ["\n"], " so"),
    "in a tag that cannot be read": ('<tool_call>"x" y', ['"'], "<tool_call>"),
}


@pytest.mark.parametrize(("text", "stops", "words"), STOPS.values(), ids=STOPS)
def test_a_stop_sequence_ends_the_text(text: str, stops: list[str], words: str) -> None:
    assert read(text, stops=stops)[0] == words
    assert read("", pieces=text, stops=stops)[0] == words


PIECES = [
    *("```json\n", "[", "]", "}\n```"),
    *("<tool_call>", "</tool_call>", "<|tool_call>", "<tool_call|>", "```tool_call\n", "```", "\n"),
    *(CALL, '{"name": "', "ping", '"}', '"', "\\", "{", "}", "call:", "ping[]", "two[a|b]", " "),
    *('<invoke name="ping">', "</invoke>", "<", "tool", "é", "a]", "two[", "STOP", "ST", ","),
]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=12).map("".join)


@given(texts, st.sampled_from(["json_tag", "pformat"]), st.data())
def test_where_a_text_is_cut_does_not_matter(text: str, dialect: str, data: st.DataObject) -> None:
    stops = data.draw(st.sampled_from([[], ["STOP"], ["}", "ST"]]))
    whole = read(text, dialect, stops=stops)
    assert read(text, dialect, text or [""], stops) == whole
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert read(text, dialect, pieces, stops) == whole


@given(texts, st.sampled_from(["json_tag", "pformat"]))
def test_nothing_is_lost_and_nothing_is_made_up(text: str, dialect: str) -> None:
    words, calls = read(text, dialect)
    if not calls:
        assert words == text
    rest = iter(text)
    assert all(character in rest for character in words)  # in order
    tags = ("tool_call", "<invoke", "tool-call", "toolcall")
    assert not calls or any(tag in text.lower() for tag in tags)


@given(st.text())
def test_text_without_a_tag_is_itself(text: str) -> None:
    assert read(text) == (text, [])


plain = st.text(st.characters(exclude_characters="<`", exclude_categories=["Cs"]), min_size=1)


@given(st.lists(st.one_of(plain, st.sampled_from([CALL, IN_ROME])), max_size=8))
def test_words_and_calls_come_apart(parts: list[str]) -> None:
    calls = [part for part in parts if part in (CALL, IN_ROME)]
    words = "".join(part for part in parts if part not in (CALL, IN_ROME))
    text = "".join(f"<tool_call>{p}</tool_call>" if p in (CALL, IN_ROME) else p for p in parts)
    told, made = read(text)
    assert made == [OSLO if call == CALL else ROME for call in calls]
    assert "".join(told.split()) == "".join(words.split())
