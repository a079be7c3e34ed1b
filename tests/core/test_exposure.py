from dataclasses import replace

import pytest

from app.core.codec import Json
from app.core.exposure import is_core, rule, unsearchable
from app.core.policy import Policy
from app.core.tools import parse
from tests.builders import dumps, tool


def ruled(policy: Policy, name: str = "github__create_issue", **outer: object) -> tuple[str, str]:
    entry: Json = {**tool(name), **outer}
    return rule(policy, parse(dumps(entry), 0), "github" if name.startswith("github") else None)


RULES = {
    "default": (Policy(), {}, ("deferred", "default")),
    "hidden by a glob": (
        Policy(hidden=("*_issue",), direct=("*",)),
        {},
        ("hidden", "policy: hidden `*_issue`"),
    ),
    "direct by family": (
        Policy(direct=("family:github",), deferred=("*",)),
        {},
        ("direct", "policy: direct `family:github`"),
    ),
    "a family glob": (
        Policy(hidden=("family:git*",)),
        {},
        ("hidden", "policy: hidden `family:git*`"),
    ),
    "another family": (Policy(direct=("family:gitlab",)), {}, ("deferred", "default")),
    "the policy before the client's mark": (
        Policy(deferred=("github*",)),
        {"defer_loading": False},
        ("deferred", "policy: deferred `github*`"),
    ),
    "the client defers": (
        Policy(),
        {"name": "ask_user", "defer_loading": True},
        ("deferred", "client: defer_loading true"),
    ),
    "the client keeps": (
        Policy(),
        {"defer_loading": False},
        ("direct", "client: defer_loading false"),
    ),
    "globs tell case apart": (Policy(hidden=("GITHUB*",)), {}, ("deferred", "default")),
}


@pytest.mark.parametrize(("policy", "entry", "ruling"), RULES.values(), ids=RULES)
def test_the_first_rule_that_matches_decides(
    policy: Policy, entry: Json, ruling: tuple[str, str]
) -> None:
    name = (
        str(entry.pop("name", "github__create_issue"))
        if "name" in entry
        else "github__create_issue"
    )
    assert ruled(policy, name, **entry) == ruling


NEVER_DEFERRED = [
    *("ask_user", "ask_followup_question", "clarify", "request_clarification", "AskUserQuestion"),
    *("request_user_input", "final_result", "final_result_2", "final_answer", "transfer_to_sales"),
    *("handoff_to_agent", "Read", "write", "edit", "shell", "Bash", "grep", "glob", "todo_write"),
    *("TodoWrite", "think", "reply", "tool_search", "call_tool"),
]


@pytest.mark.parametrize("name", NEVER_DEFERRED)
def test_what_must_be_at_hand_is_direct(name: str) -> None:
    assert ruled(Policy(), name)[0] == "direct"


@pytest.mark.parametrize(
    "name", ["filesystem__read_file", "readme_update", "bash_history", "tasks"]
)
def test_names_that_only_sound_like_it_are_deferred(name: str) -> None:
    assert ruled(Policy(), name) == ("deferred", "default")


def test_the_core_is_known_by_its_names() -> None:
    assert all(map(is_core, NEVER_DEFERRED))
    assert not any(map(is_core, ["readme_update", "get_weather", ""]))


def test_a_tool_that_is_no_function_stays_direct_even_where_the_policy_defers_it() -> None:
    hosted = parse(dumps({"type": "web_search", "name": "web"}), 0)
    assert rule(Policy(), hosted, None).exposure == "direct"
    assert rule(Policy(deferred=("*",)), hosted, None).exposure == "direct"
    assert rule(Policy(hidden=("web",)), hosted, None).exposure == "hidden"


def test_a_custom_tool_may_be_deferred_where_it_can_be_declared() -> None:
    custom = parse(dumps({"type": "custom", "custom": {"name": "run_sql"}}), 0)
    assert rule(Policy(), custom, None) == ("deferred", "default")
    assert rule(Policy(strategy="wrap"), custom, None).exposure == "direct"


def test_a_hosted_search_tool_is_replaced() -> None:
    hosted = parse(dumps({"type": "tool_search_tool_regex_20251119", "name": "s"}), 0)
    assert rule(Policy(direct=("*",)), hosted, None).exposure == "hidden"


CLOSED: dict[str, tuple[dict[str, object], str, str]] = {
    "what is named is there": ({"direct": ("a*",)}, "a1", "direct"),
    "what is named to be found": (
        {"deferred": ("a*",), "admit_bridge": True},
        "a1",
        "deferred",
    ),
    "without a search it is declared": ({"deferred": ("a*",)}, "a1", "direct"),
    "what is not named is gone": ({"direct": ("a*",)}, "b", "hidden"),
    "also what asks": ({"direct": ("a1",)}, "ask_user", "hidden"),
    "also what ends": ({"direct": ("a*",)}, "final_answer", "hidden"),
    "a hidden pattern goes first": ({"direct": ("a*",), "hidden": ("a1",)}, "a1", "hidden"),
}


@pytest.mark.parametrize(("policy", "name", "exposure"), CLOSED.values(), ids=CLOSED)
def test_default_exposure_hidden_fails_closed(
    policy: dict[str, object], name: str, exposure: str
) -> None:
    chosen = Policy(default_exposure="hidden", **policy)  # type: ignore[arg-type]
    assert ruled(chosen, name)[0] == exposure


@pytest.mark.parametrize("mark", [True, False])
def test_no_mark_of_the_clients_opens_what_is_closed(mark: bool) -> None:
    closed = Policy(default_exposure="hidden", admit_bridge=True)
    assert ruled(closed, "x", defer_loading=mark)[0] == "hidden"


def test_default_exposure_hidden_also_takes_tools_without_a_name() -> None:
    search = parse(dumps({"type": "web_search"}), 0)
    assert rule(Policy(default_exposure="hidden"), search, None).exposure == "hidden"
    admitted = Policy(default_exposure="hidden", direct=("web_search",))
    assert rule(admitted, search, None).exposure == "direct"


def test_default_exposure_direct_defers_only_what_is_named() -> None:
    policy = Policy(default_exposure="direct", deferred=("github__*",))
    assert ruled(policy) == ("deferred", "policy: deferred `github__*`")
    assert ruled(policy, "x") == ("direct", "policy: default_exposure direct")
    assert ruled(policy, "x", defer_loading=True)[0] == "deferred"


NO_SEARCH: dict[str, tuple[Policy, str | None]] = {
    "by default there is one": (Policy(), None),
    "hidden by name": (Policy(hidden=("tool_search",)), "`tool_search` hides `tool_search`"),
    "hidden by a glob": (Policy(hidden=("x", "*search*")), "`*search*` hides `tool_search`"),
    "the wrapper is hidden": (
        Policy(hidden=("call_*",), strategy="wrap"),
        "`call_*` hides `call_tool`",
    ),
    "no wrapper is needed": (Policy(hidden=("call_*",)), None),
    "closed": (
        Policy(default_exposure="hidden"),
        "`default_exposure: hidden` without `admit_bridge`",
    ),
    "closed, and a tool of its name let in": (
        Policy(default_exposure="hidden", direct=("tool_search",), deferred=("*",)),
        "`default_exposure: hidden` without `admit_bridge`",
    ),
    "closed but for it": (Policy(default_exposure="hidden", admit_bridge=True), None),
}


@pytest.mark.parametrize(("policy", "why"), NO_SEARCH.values(), ids=NO_SEARCH)
def test_the_bridge_is_there_if_the_policy_admits_it(policy: Policy, why: str | None) -> None:
    assert unsearchable(policy) == why


def test_where_there_is_no_search_nothing_is_deferred() -> None:
    assert ruled(Policy(hidden=("tool_*",)), "x") == (
        "direct",
        "nothing is deferred: `tool_*` hides `tool_search`",
    )
    assert ruled(Policy(mode="off"), "x") == ("direct", "mode off: nothing is deferred")


@pytest.mark.parametrize("pattern", ["family:github", "family:crm"])
def test_a_tool_in_a_namespace_is_of_two_families(pattern: str) -> None:
    one = replace(parse(dumps(tool("github__create_issue")), 0), namespace="crm")
    assert rule(Policy(hidden=(pattern,)), one, "github").exposure == "hidden"
