"""Positional calls, and calls in both dialects that say what they are read as."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.codec import encode
from app.core.dialect import jsontag, pformat
from app.core.dialect.said import Said
from tests.core.dialect.builders import KNOWN, read

POSITIONAL: dict[str, tuple[str, str, Any]] = {
    "two": ("two[x|y]", "two", {"a": "x", "b": "y"}),
    "alphabetical": ("math[true|42|3.14]", "math", {"verbose": True, "x": 42, "y": 3.14}),
    "none": ("ping[]", "ping", {}),
    "none where one is wanted": ("shell[]", "shell", {}),
    "spaces": ("shell[ls -la /tmp]", "shell", {"command": "ls -la /tmp"}),
    "lines": ("shell[a\nb]", "shell", {"command": "a\nb"}),
    "an optional one left out": ("get_weather[Oslo]", "get_weather", {"city": "Oslo"}),
    "an optional one empty": ("get_weather[Oslo|]", "get_weather", {"city": "Oslo"}),
    "the first empty": ("math[|42|]", "math", {"x": 42}),
    "a required text empty": ("two[|y]", "two", {"a": "", "b": "y"}),
    "an escaped bar": (r"shell[cat f \| grep b]", "shell", {"command": "cat f | grep b"}),
    "an escaped bracket": (r"shell[echo \]]", "shell", {"command": "echo ]"}),
    "an escaped backslash": (r"shell[C:\\tmp\\]", "shell", {"command": "C:\\tmp\\"}),
    "no other escapes": (r"shell[C:\new \d\"]", "shell", {"command": r"C:\new \d\""}),
    "a bracket inside": ("shell[a[0] = 1]", "shell", {"command": "a[0] = 1"}),
    "not a number": ("math[maybe|x1|1.]", "math", {"verbose": "maybe", "x": "x1", "y": "1."}),
    "a large number": (f"math[|{2**70}|1.10]", "math", {"x": 2**70, "y": 1.10}),
    "a list": ('search[|["a", "b"]]', "search", {"queries": ["a", "b"]}),
    "a text for a list": ("search[5|a b]", "search", {"limit": 5, "queries": "a b"}),
    "a bar too many": ("two[x|y|]", "two", {"a": "x", "b": "y"}),
    "a custom tool": (r"sql[SELECT '\|']", "sql", "SELECT '|'"),
    "a name with marks": ("srv.tool-search:v1[x]", "srv.tool-search:v1", {"q": "x"}),
    "call: before it": ("call: ping[]", "ping", {}),
    "read as JSON": ('{"name": "two", "arguments": {"b": "y"}}', "two", {"b": "y"}),
    "JSON in the form of a function": ('two{"b": "y"}', "two", {"b": "y"}),
}


@pytest.mark.parametrize(("body", "name", "arguments"), POSITIONAL.values(), ids=POSITIONAL)
def test_a_positional_call(body: str, name: str, arguments: Any) -> None:
    words, [(called, given)] = read(f"<tool_call>\n{body}\n</tool_call>", "pformat")
    assert (words, called) == ("", name)
    assert (given if name == "sql" else json.loads(given)) == arguments


def test_several_in_one_tag() -> None:
    text = "<tool_call>two[x|y]\nping[]</tool_call>"
    assert read(text, "pformat")[1] == [("two", '{"a": "x", "b": "y"}'), ("ping", "{}")]


NOT_READ = {
    "an unknown tool": "send_fax[1|2]",
    "too many": "two[x|y|z]",
    "no end": "two[x|y",
    "an escaped end": r"two[x|y\]",
    "words behind": "two[x|y] please",
}


@pytest.mark.parametrize("body", NOT_READ.values(), ids=NOT_READ)
def test_what_is_not_positional_stays_text(body: str) -> None:
    text = f"<tool_call>{body}</tool_call>"
    assert read(text, "pformat") == (text, [])


def test_the_other_dialect_does_not_read_it() -> None:
    text = "<tool_call>two[x|y]</tool_call>"
    assert read(text, "json_tag") == (text, [])


SAID = {
    "flat": ("two", {"b": "y", "a": "x|]\\"}, r"two[x\|\]\\|y]"),
    "trailing ones left out": ("math", {"verbose": False}, "math[false]"),
    "types": ("math", {"x": 1, "y": 2.5}, "math[|1|2.5]"),
    "a text that looks like a tag": ("shell", {"command": "</tool_call>"}, None),
    "a number as a text": ("math", {"x": "1"}, None),
    "an empty text": ("shell", {"command": ""}, None),
    "an unknown argument": ("shell", {"cmd": "ls"}, None),
    "null": ("shell", {"command": None}, None),
}


@pytest.mark.parametrize(("name", "arguments", "body"), SAID.values(), ids=SAID)
def test_a_call_is_written_by_positions_where_they_say_it(
    name: str, arguments: Any, body: str | None
) -> None:
    said = Said(name, json.dumps(arguments))
    assert pformat.written(said, KNOWN[name]) == (body or jsontag.written(said))


TAGS = ["</tool_call>", "<tool_call>", "```", "<tool_result>", "a|b", "]", "\\", "x"]
texts = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(TAGS)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
NAMES = ["a", "b", "x", "y", "verbose", "command", "queries", "limit"]
arguments = st.dictionaries(st.sampled_from(NAMES), values, max_size=3)


@given(
    st.sampled_from(sorted(set(KNOWN) - {"sql"})),
    arguments,
    st.sampled_from(["json_tag", "pformat"]),
)
def test_what_is_written_is_read_as_the_same_call(name: str, given_: Any, dialect: str) -> None:
    said = Said(name, encode(given_).decode())
    body = jsontag.written(said) if dialect == "json_tag" else pformat.written(said, KNOWN[name])
    words, [(called, back)] = read(f"So: <tool_call>{body}</tool_call>\n", dialect)
    assert (words, called) == ("So: ", name)
    assert json.loads(back) == given_
    assert body == (
        jsontag.written(said) if dialect == "json_tag" else pformat.written(said, KNOWN[name])
    )


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(["json_tag", "pformat"]))
def test_a_custom_call_is_read_as_the_same(given_: str, dialect: str) -> None:
    said = Said("sql", given_, "custom")
    body = jsontag.written(said) if dialect == "json_tag" else pformat.written(said, KNOWN["sql"])
    assert read(f"<tool_call>{body}</tool_call>", dialect) == ("", [("sql", given_)])
