import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.body import Body, Malformed

ODD = b' { "b" : 1.10 ,\n"tools":[ 1 ], "\\u0061":18446744073709551616,"z":{"y":1e2} } '


def test_members_are_the_bytes_that_came() -> None:
    body = Body(ODD)
    assert [body.get(name) for name in ("b", "tools", "a", "z", "none")] == [
        b"1.10",
        b"[ 1 ]",
        b"18446744073709551616",
        b'{"y":1e2}',
        None,
    ]


def test_a_splice_changes_its_members_and_no_other_byte() -> None:
    assert Body(ODD).splice({"tools": b"[2]"}) == ODD.replace(b"[ 1 ]", b"[2]")


def test_a_member_that_is_new_comes_last() -> None:
    assert Body(b'{"a":1 }').splice({"c": b"3"}) == b'{"a":1 ,"c":3}'
    assert Body(b"{}").splice({"c": b"3", "d": b"4"}) == b'{"c":3,"d":4}'


def test_members_can_be_left_out() -> None:
    assert Body(b'{"a":1, "b":2, "c":3}').without("b") == b'{"a":1,"c":3}'
    assert Body(b'{"a":1}').without("a") == b"{}"


KNOWN = b'[{"name":"a"}]'
WITH_KNOWN = {
    "as the member": (b'{"a":1, "tools": [{"name":"a"}], "b":2}', KNOWN),
    "first": (b'{"tools":[{"name":"a"}],"b":2}', KNOWN),
    "another text": (b'{"tools":[{"name":"b"}]}', b'[{"name":"b"}]'),
    "a longer text": (b'{"tools":[{"name":"a"}] }', KNOWN),
    "deeper, before the member": (
        b'{"x":{"tools":[{"name":"a"}]},"tools":[{"name":"b"}]}',
        b'[{"name":"b"}]',
    ),
    "deeper, and a placeholder of the client's": (
        b'{"x":{"tools":[{"name":"a"}]},"tools":0}',
        b"0",
    ),
    "deeper only": (b'{"x":{"tools":[{"name":"a"}]}}', None),
    "in a string": (b'{"x":"\\"tools\\":[{\\"name\\":\\"a\\"}]","tools":[]}', b"[]"),
    "a placeholder of the client's": (b'{"tools":0}', b"0"),
}


@pytest.mark.parametrize(("raw", "text"), WITH_KNOWN.values(), ids=WITH_KNOWN)
def test_a_known_member_is_found_and_everything_is_as_without(
    raw: bytes, text: bytes | None
) -> None:
    body, plain = Body(raw, "tools", [b"[1]", KNOWN]), Body(raw)
    assert body.get("tools") == plain.get("tools") == text
    assert body.splice({}) == raw
    assert body.splice({"tools": b"[2]", "new": b"3"}) == plain.splice(
        {"tools": b"[2]", "new": b"3"}
    )
    assert body.without("a") == plain.without("a")


def test_a_known_member_that_is_named_twice_is_malformed() -> None:
    for raw in (b'{"tools":%b,"tools":%b}' % (KNOWN, KNOWN), b'{"tools":%b,"tools":0}' % KNOWN):
        with pytest.raises(Malformed, match="duplicate-keys"):
            Body(raw, "tools", [KNOWN])


MALFORMED = {
    "empty": (b"", "not-json"),
    "a list": (b"[]", "not-json"),
    "cut off": (b'{"a":1', "not-json"),
    "trailing text": (b'{"a":1} x', "not-json"),
    "NaN": (b'{"a":NaN}', "not-json"),
    "a byte-order mark": (b"\xef\xbb\xbf{}", "not-json"),
    "UTF-16": ('{"a":1}'.encode("utf-16"), "not-json"),
    "bad UTF-8": (b'{"a":"\xff"}', "not-json"),
    "too deep": (b'{"a":' + b"[" * 100_000, "not-json"),
    "a key twice": (b'{"a":1,"a":1}', "duplicate-keys"),
    "a key twice, one escaped": (b'{"a":1,"\\u0061":2}', "duplicate-keys"),
    "a key twice, apart": (b'{"a":[1],"b":2,"a":[1,2]}', "duplicate-keys"),
    "a key twice, equal lengths": (b'{"a":"x","b":2,"a":"y"}', "duplicate-keys"),
    "a key twice, made to look right": (
        b'{"a":"","b":"","a":",\\"b\\":\\"","b":""}',
        "duplicate-keys",
    ),
}


@pytest.mark.parametrize(("text", "reason"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_body_says_why(text: bytes, reason: str) -> None:
    with pytest.raises(Malformed, match=f"^{reason}$"):
        Body(text)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False, width=32),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), json_values, max_size=6),
    st.sampled_from([None, 0, 2]),
    st.booleans(),
)
def test_any_object_comes_apart_and_together(
    members: dict[str, object], indent: int | None, escaped: bool
) -> None:
    raw = json.dumps(members, indent=indent, ensure_ascii=escaped).encode("utf-8", "replace")
    body = Body(raw)
    assert {name: json.loads(body.get(name) or b"") for name in members} == json.loads(raw)
    assert body.splice({name: body.get(name) or b"" for name in members}) == raw
    assert json.loads(body.splice({"new": b"1"})) == {**json.loads(raw), "new": 1}
