import pytest

from app.core.ranking.families import members, named, prefix

NAMES = {
    "github__create_issue": ("github", "github__"),
    "mcp__github__create_issue": ("github", "mcp__github__"),
    "github.create_issue": ("github", "github."),
    "create_issue": None,
    "__init": None,
    "github__": None,
}


@pytest.mark.parametrize("name", NAMES)
def test_the_family_that_a_name_begins_with(name: str) -> None:
    assert prefix(name) == NAMES[name]


def test_families_are_known_by_the_words_that_only_one_of_them_has() -> None:
    names = ["yahoo-finance__quote", "yahoo-mail__send", "yahoo-mail__list", "mcp-server__run"]
    families = members(names)
    assert families == {"yahoo-finance": [0], "yahoo-mail": [1, 2], "mcp-server": [3]}
    assert named(families) == {"financ": [0], "mail": [1, 2]}
