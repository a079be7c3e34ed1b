import pytest

from app.core.choice import Choice, read_choice
from app.core.codec import Json


def named(name: str) -> Json:
    return {"type": "function", "function": {"name": name}}


def allowed(*names: str, mode: str = "auto") -> Json:
    listed = {"mode": mode, "tools": [named(name) for name in names]}
    return {"type": "allowed_tools", "allowed_tools": listed}


FLAT = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "a"}]}
CHOICES = {
    "absent": (None, Choice()),
    "auto": ("auto", Choice("auto")),
    "none": ("none", Choice("none")),
    "required": ("required", Choice("required", required=True)),
    "any": ("any", Choice("required", required=True)),
    "a word that we do not know": ("maybe", Choice("other")),
    "named": (named("a"), Choice("named", ("a",), True, named("a"))),
    "a custom tool": (
        {"type": "custom", "custom": {"name": "a"}},
        Choice("named", ("a",), True, {"type": "custom", "custom": {"name": "a"}}),
    ),
    "allowed": (allowed("a", "b"), Choice("allowed", ("a", "b"), False, allowed("a", "b"))),
    "allowed, required": (
        allowed("a", mode="required"),
        Choice("allowed", ("a",), True, allowed("a", mode="required")),
    ),
    "allowed, flat": (FLAT, Choice("allowed", ("a",), True, FLAT)),
    "an object that we do not know": ({"x": 1}, Choice("other")),
    "a number": (1, Choice("other")),
}


@pytest.mark.parametrize(("value", "choice"), CHOICES.values(), ids=CHOICES)
def test_reading_a_choice(value: object, choice: Choice) -> None:
    assert read_choice(value) == choice


def test_an_allowed_list_is_cut_to_what_is_declared_and_gets_the_bridge() -> None:
    value = allowed("a", "b", mode="required")
    rewritten = read_choice(value).allowing(["b", "tool_search"], value)
    assert rewritten == allowed("b", "tool_search", mode="required")


def test_a_flat_allowed_list_stays_flat() -> None:
    rewritten = read_choice(FLAT).allowing(["a", "tool_search"], FLAT)
    assert rewritten["tools"] == [
        {"type": "function", "name": "a"},
        {"type": "function", "name": "tool_search"},
    ]
