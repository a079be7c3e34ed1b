"""Under a policy that hides tools, what cannot be held back does not go through."""

from typing import Any

import pytest

from app.core.body import Body
from app.core.codec import Json
from app.core.errors import BadRequest, Broken
from app.core.fold import Fold
from app.core.guard import refusal
from app.core.plan import Relay, open_request, relayed
from app.core.policy import Policy
from tests.builders import CATALOG, FILLER, WEATHER, body, dumps
from tests.core.test_fold import allowed, named, sent
from tests.player import planned

HIDING = Policy(mode="on", hidden=("stripe__*",))
SECRET = "stripe__refund_payment"

REFUSED: dict[str, tuple[bytes, str]] = {
    "several choices": (body(n=2), "n"),
    "no choice": (body(n=0), "n"),
    "a choice of a hidden tool": (body(tool_choice=named(SECRET)), "tool_choice"),
    "only a hidden tool allowed, and a call required": (
        body(tool_choice=allowed(SECRET, mode="required")),
        "tool_choice",
    ),
    "a tool twice": (body([WEATHER, WEATHER]), "tools[1].function.name"),
    "no messages": (dumps({"tools": CATALOG}), "messages"),
}


@pytest.mark.parametrize("policy", [HIDING, Policy(mode="off", hidden=("stripe__*",))])
@pytest.mark.parametrize(("raw", "param"), REFUSED.values(), ids=REFUSED)
def test_what_would_carry_a_hidden_tool_along_is_refused(
    policy: Policy, raw: bytes, param: str
) -> None:
    with pytest.raises(BadRequest) as caught:
        planned(raw, policy)
    assert caught.value.param == param
    assert "stripe" not in caught.value.message


TWICE = b'{"type":"function","function":{"name":"stripe__refund_payment","name":"get_weather"}}'
SPELLED: dict[str, bytes] = {
    "tools in capitals": dumps({"messages": [], "Tools": CATALOG}),
    "tools beside tools": body([WEATHER], TOOLS=CATALOG),
    "a letter that folds to another": dumps({"messages": [], "tool\u017f": CATALOG}),
    "functions": body([WEATHER], Functions=[]),
    "the choice": body(Tool_Choice=named(SECRET)),
    "a function in a tool": body([*FILLER, {**WEATHER, "Function": {"name": SECRET}}]),
    "a name in a function": body(
        [*CATALOG, {"type": "function", "function": {"name": "x", "Name": SECRET}}]
    ),
    "a name that alone is hidden": body(
        [{"type": "function", "function": {"name": "x", "Name": SECRET}}]
    ),
    "a name twice": body(CATALOG)
    .replace(b'"tools": [', b'"tools": [' + TWICE + b", ")
    .replace(dumps(WEATHER) + b", ", b""),
}


@pytest.mark.parametrize("raw", SPELLED.values(), ids=SPELLED)
def test_what_parsers_read_in_two_ways_is_refused(raw: bytes) -> None:
    def plan() -> object:
        opened = open_request(raw, HIDING)
        return opened if isinstance(opened, Relay) else planned(raw, HIDING)

    with pytest.raises(BadRequest) as caught:
        plan()
    assert caught.value.code == "other_spelling"


NAMING = [SECRET, {"function": {"name": SECRET}}, {"type": "tool", "x": [{"y": SECRET}]}]


@pytest.mark.parametrize("choice", NAMING, ids=repr)
def test_no_spelling_of_a_choice_names_a_hidden_tool(choice: object) -> None:
    with pytest.raises(BadRequest) as caught:
        planned(body(tool_choice=choice), HIDING)
    assert caught.value.param == "tool_choice"


def test_several_choices_of_tools_none_of_which_is_hidden_are_relayed() -> None:
    assert planned(body([WEATHER], n=2), HIDING) == Relay("several-choices")


def test_legacy_functions_are_refused_beside_tools_and_alone() -> None:
    functions = [WEATHER["function"]]
    for raw in (body(functions=functions), dumps({"functions": functions})):
        with pytest.raises(BadRequest, match="send them as `tools`"):
            open_request(raw, HIDING)
    assert open_request(body(functions=functions), Policy()) == Relay("legacy-functions")
    assert isinstance(open_request(body(functions=[]), HIDING), Relay)


@pytest.mark.parametrize(
    "reason", ["not-json", "duplicate-keys", "tools-malformed", "messages-malformed"]
)
def test_what_cannot_be_read_is_relayed_only_where_nothing_is_hidden(reason: str) -> None:
    assert relayed(reason, Policy()) == Relay(reason)
    with pytest.raises(BadRequest) as caught:
        relayed(reason, HIDING)
    assert caught.value.code == reason.replace("-", "_")


def test_a_fault_of_ours_is_a_500_there() -> None:
    failure = refusal("internal-error")
    assert isinstance(failure, Broken)
    assert failure.status == 500


CHOICES: dict[str, tuple[Any, Any]] = {
    "some hidden": (
        allowed("get_weather", SECRET),
        allowed("get_weather", "tool_search"),
    ),
    "all hidden": (allowed(SECRET), allowed("tool_search")),
}


@pytest.mark.parametrize(("choice", "rewritten"), CHOICES.values(), ids=CHOICES)
def test_allowed_tools_lose_what_is_hidden(choice: Json, rewritten: Json) -> None:
    plan = planned(body(tool_choice=choice), HIDING)
    assert isinstance(plan, Fold)
    assert sent(plan)["tool_choice"] == rewritten


def test_where_nothing_is_allowed_and_nothing_can_be_found_no_call_may_be_made() -> None:
    policy = Policy(mode="off", hidden=("stripe__*",))
    plan = planned(body(tool_choice=allowed(SECRET)), policy)
    assert isinstance(plan, Fold)
    assert sent(plan)["tool_choice"] == "none"


def test_off_takes_the_hidden_tools_out_and_changes_nothing_else() -> None:
    plan = planned(body(), Policy(mode="off", hidden=("stripe__*",)))
    assert isinstance(plan, Fold)
    names = [entry["function"]["name"] for entry in sent(plan)["tools"]]
    assert sorted(names) == sorted(
        entry["function"]["name"] for entry in CATALOG if entry["function"]["name"] != SECRET
    )
    assert Body(body()).get("messages") == Body(plan.request((), [])).get("messages")


INNER: Json = {"type": "function", "name": SECRET, "parameters": {"type": "object"}}
GROUP: Json = {"type": "namespace", "name": "crm", "tools": [INNER]}
DEFERRED: Json = {**GROUP, "tools": [{**INNER, "defer_loading": True}]}
TWO_WAYS = dumps(DEFERRED).replace(b'"tools"', b'"tools": [], "tools"')
NAMESPACES: dict[str, bytes] = {
    "that goes as it is": body([*FILLER, GROUP]),
    "in another spelling": body([*FILLER, {**DEFERRED, "Tools": []}]),
    "with its tools twice": body([*FILLER, GROUP]).replace(dumps(GROUP), TWO_WAYS),
}


@pytest.mark.parametrize("raw", NAMESPACES.values(), ids=NAMESPACES)
def test_a_namespace_is_read_in_one_way_or_refused(raw: bytes) -> None:
    with pytest.raises(BadRequest) as caught:
        planned(raw, HIDING)
    assert (caught.value.param, caught.value.code) in [
        ("tools", "namespace"),
        ("body", "other_spelling"),
    ]


def test_what_is_hidden_in_a_namespace_is_hidden() -> None:
    plan = planned(body([*FILLER, DEFERRED]), HIDING)
    assert isinstance(plan, Fold)
    assert SECRET not in str(sent(plan))
