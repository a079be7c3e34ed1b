import pytest

from app.core.codec import Json
from app.core.policy import Policy, is_core
from app.core.tools import parse
from tests.builders import dumps, tool


def ruled(policy: Policy, name: str = "github__create_issue", **outer: object) -> tuple[str, str]:
    entry: Json = {**tool(name), **outer}
    return policy.rule(parse(dumps(entry), 0), "github" if name.startswith("github") else None)


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
    assert Policy().rule(hosted, None).exposure == "direct"
    assert Policy(deferred=("*",)).rule(hosted, None).exposure == "direct"
    assert Policy(hidden=("web",)).rule(hosted, None).exposure == "hidden"


def test_a_custom_tool_may_be_deferred_where_it_can_be_declared() -> None:
    custom = parse(dumps({"type": "custom", "custom": {"name": "run_sql"}}), 0)
    assert Policy().rule(custom, None) == ("deferred", "default")
    assert Policy(strategy="wrap").rule(custom, None).exposure == "direct"


def test_a_hosted_search_tool_is_replaced() -> None:
    hosted = parse(dumps({"type": "tool_search_tool_regex_20251119", "name": "s"}), 0)
    assert Policy(direct=("*",)).rule(hosted, None).exposure == "hidden"
