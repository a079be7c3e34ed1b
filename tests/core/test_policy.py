from dataclasses import fields

import pytest

from app.core.policy import FIELDS, Field, Policy


def test_every_field_has_a_knob() -> None:
    """All but what a request narrows: that is a policy."""
    assert [field.name for field in fields(Policy)] == [*FIELDS, "within"]


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
def test_a_knob_says_what_it_is_for_and_admits_its_default(field: Field) -> None:
    assert field.knob.says.endswith(".")
    assert field.default == getattr(Policy(), field.name)
    if field.kind in ("integer", "number"):
        assert field.admits(field.default)
    if field.words:
        assert field.default in field.words


def test_only_what_can_be_narrowed_has_a_header() -> None:
    assert {f.header for f in FIELDS.values() if f.knob.narrows != "never"} == {
        *("X-Toolfold-Mode", "X-Toolfold-Strategy", "X-Toolfold-Direct", "X-Toolfold-Deferred"),
        *("X-Toolfold-Hidden", "X-Toolfold-Limit", "X-Toolfold-Max-Searches"),
        *("X-Toolfold-Manifest-Tokens", "X-Toolfold-Schema-Budget"),
    }


WANTED = {
    "mode": "off, observe, auto or on",
    "hidden": "a list of patterns, such as `github__*` or `family:github`",
    "capture": "true or false",
    "limit": "a whole number from 1 to 20",
    "min_saving": "a number from 0 to 1",
    "max_tools": "a whole number from 1 on",
    "schema_budget": "off, third_party or a whole number of bytes from 100 on",
}


@pytest.mark.parametrize(("name", "wanted"), WANTED.items(), ids=WANTED)
def test_what_a_value_has_to_be(name: str, wanted: str) -> None:
    assert FIELDS[name].wanted == wanted


def test_equal_policies_are_one_key() -> None:
    assert {Policy(hidden=("a",)): 1}[Policy(hidden=("a",))] == 1
    assert Policy() != Policy(within=Policy())


def test_what_may_hide() -> None:
    assert not Policy().may_hide
    assert Policy(hidden=("a",)).may_hide
    assert Policy(default_exposure="hidden").may_hide
