from collections.abc import Callable
from typing import Any

import pytest

from app.core.body import Malformed
from app.core.catalog import Catalog, compile_catalog
from tests.builders import CATALOG, dumps, tool


def compiled(*names: str) -> Catalog:
    return compile_catalog(dumps([tool(name) for name in names]), len)


FAMILIES: dict[str, tuple[str, list[str], tuple[str, str] | None]] = {
    "two underscores": ("github__create_issue", [], ("github", "github__")),
    "an MCP server": ("mcp__github__create_issue", [], ("github", "mcp__github__")),
    "a dot": ("github.create_issue", [], ("github", "github.")),
    "a shared prefix": ("weather_now", ["weather_later", "weather_map"], ("weather", "weather_")),
    "a shared prefix with -": ("gmail-send", ["gmail-read", "gmail_list"], ("gmail", "gmail-")),
    "a prefix that only two share": ("weather_now", ["weather_later"], None),
    "no prefix": ("translate", ["transfer", "transmit"], None),
    "nothing before the separator": ("__init", [], None),
    "nothing behind it": ("github__", [], None),
}


@pytest.mark.parametrize(("name", "others", "family"), FAMILIES.values(), ids=FAMILIES)
def test_families(name: str, others: list[str], family: tuple[str, str] | None) -> None:
    found = compiled(name, *others).families[0]
    assert (None if found is None else (found.name, found.prefix)) == family


MEANT = {
    "other case": ("Github__Create_Issue", "github__create_issue"),
    "other separators": ("github.create-issue", "github__create_issue"),
    "camel case": ("githubCreateIssue", "github__create_issue"),
    "the family left out": ("create_issue", "github__create_issue"),
    "an invented prefix": ("functions.get_weather", "get_weather"),
    "an invented prefix, the family left out": ("tools/create_issue", "github__create_issue"),
    "two tools have that name in their families": ("list", None),
    "a part of the name": ("create", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("wrong", "name"), MEANT.values(), ids=MEANT)
def test_a_wrong_name_that_can_only_mean_one_tool(wrong: str, name: str | None) -> None:
    catalog = compiled("github__create_issue", "get_weather", "a__list", "b__list")
    found = catalog.meant(wrong, lambda _: True)
    assert (found.name if found else None) == name


def test_a_tool_that_is_not_admitted_is_never_meant_nor_close() -> None:
    catalog = compiled("a__list", "b__list")
    meant = catalog.meant("list", {"b__list"}.__contains__)
    assert meant is not None
    assert meant.name == "b__list"
    assert catalog.close("a__list", {"b__list"}.__contains__) == ["b__list"]


def test_at_most_three_names_are_close() -> None:
    catalog = compiled(*(f"crm__read_{noun}" for noun in ("deal", "lead", "note", "task")))
    assert len(catalog.close("read_contact", lambda _: True)) == 3


def test_every_tool_is_weighed(count: Callable[[str], int]) -> None:
    catalog = compile_catalog(dumps(CATALOG), count)
    assert catalog.tokens == tuple(count(dumps(entry).decode()) for entry in CATALOG)


def test_the_fingerprint_is_of_the_bytes() -> None:
    assert compiled("a").fingerprint == compiled("a").fingerprint
    assert compiled("a").fingerprint != compiled("b").fingerprint


FAULTS: dict[str, tuple[list[Any], str]] = {
    "a name twice": ([tool("a"), tool("b"), tool("a")], "tools[2].function.name"),
    "no name": ([tool("a"), {"type": "function", "function": {}}], "tools[1].function.name"),
    "not an object": ([7], "tools[0]"),
}


@pytest.mark.parametrize(("entries", "param"), FAULTS.values(), ids=FAULTS)
def test_tools_that_no_upstream_takes_are_a_fault(entries: list[Any], param: str) -> None:
    catalog = compile_catalog(dumps(entries), len)
    assert catalog.fault is not None
    assert catalog.fault.param == param
    assert catalog.count == len(entries)


def test_nameless_tools_do_not_clash() -> None:
    entries = [{"type": "web_search"}, {"type": "code_interpreter"}]
    assert compile_catalog(dumps(entries), len).fault is None


@pytest.mark.parametrize("raw", [b"{}", b'"x"', b"1", b"[" * 5_000])
def test_tools_that_are_no_list_are_malformed(raw: bytes) -> None:
    with pytest.raises(Malformed, match="tools-malformed"):
        compile_catalog(raw, len)
