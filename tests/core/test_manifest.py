from collections.abc import Callable

import pytest

from app.core.catalog import compile_catalog
from app.core.codec import Json
from app.core.manifest import Listed, Manifest, clean, manifest, sentence, signature
from app.core.tools import parse
from tests.builders import CATALOG, REFUND, WEATHER, dumps, tool

Count = Callable[[str], int]


def listed(entries: list[Json]) -> list[Listed]:
    catalog = compile_catalog(dumps(entries), len)
    return [Listed(t, f) for t, f in zip(catalog.tools, catalog.families, strict=True)]


def written(entries: list[Json], budget: int, count: Count = len) -> Manifest:
    return manifest(listed(entries), budget, count)


SMALL = [REFUND, WEATHER, tool("github__close_issue", "Close it."), CATALOG[1]]
RUNGS = {
    "signatures": (
        10_000,
        "- github__close_issue(): Close it\n"
        "- github__create_issue(repo, title): Create an issue in a repository\n"
        "- stripe__refund_payment(payment, cents): Give the money of a payment back\n"
        "- get_weather(city, units?): Current weather in a city",
    ),
    "sentences": (
        265,
        "- github__close_issue: Close it\n"
        "- github__create_issue: Create an issue in a repository\n"
        "- stripe__refund_payment: Give the money of a payment back\n"
        "- get_weather: Current weather in a city",
    ),
    "families": (
        200,
        "- github__: close_issue, create_issue\n"
        "- stripe__: refund_payment\n"
        "- (no prefix): get_weather",
    ),
}


def test_where_calls_are_positional_signatures_are_too() -> None:
    text = manifest(listed(SMALL), 10_000, len, positional=True).text
    assert text.splitlines() == [
        "More tools, as name[first|second?]: purpose:",
        "- github__close_issue[]: Close it",
        "- github__create_issue[repo|title]: Create an issue in a repository",
        "- stripe__refund_payment[cents|payment]: Give the money of a payment back",
        "- get_weather[city|units?]: Current weather in a city",
    ]


@pytest.mark.parametrize(
    ("rung", "budget", "lines"), [(k, *v) for k, v in RUNGS.items()], ids=RUNGS
)
def test_the_first_rung_that_fits(rung: str, budget: int, lines: str) -> None:
    found = written(SMALL, budget)
    assert found.rung == rung
    assert found.text.split("\n", 1)[1] == lines


def test_examples_and_a_bare_count_are_the_last_rungs() -> None:
    many = [tool(f"crm__read_{n:03}_of_them_all") for n in range(100)]
    found = written(many, 200)
    assert found.rung == "examples"
    assert "- crm (100): crm__read_000_of_them_all, " in found.text
    assert written(many, 20) == ("100 more tools. Search for what you need.", "count")


def test_the_order_of_the_tools_does_not_matter() -> None:
    assert written(SMALL, 10_000) == written(SMALL[::-1], 10_000)


def test_the_budget_is_kept_in_tokens(count: Count) -> None:
    for budget in (40, 80, 160, 320, 640):
        assert count(written(CATALOG, budget, count).text) <= budget


def test_a_signature_has_the_required_arguments_first_and_an_end() -> None:
    properties = {f"p{n}": "string?" for n in range(40)} | {"last": "string"}
    line = signature(parse(dumps(tool("big", "", **properties)), 0))
    assert line.startswith("big(last, p0?, ")
    assert line.endswith(", ...)")
    assert len(line) < 120


SENTENCES = {
    "one": ("Get it.", "Get it"),
    "the first of two": ("Get it. Then go.", "Get it"),
    "a version number is no end": ("Uses v1.2 of it. Yes.", "Uses v1.2 of it"),
    "a line end is one": ("Get it\nArgs: x", "Get it"),
    "full width": ("取得天气。 然后", "取得天气。"),
    "cut at 60": ("a" * 100, "a" * 59 + "…"),
    "nothing": ("", ""),
}


@pytest.mark.parametrize(("text", "first"), SENTENCES.values(), ids=SENTENCES)
def test_the_first_sentence(text: str, first: str) -> None:
    assert sentence(text) == first


HOSTILE = {
    "control characters": ("a\x00\x1b[31mb", "a[31mb"),
    "lines": ("a\nb\r\nc\td", "a b  c d"),
    "zero width": ("a\u200b\u200d\ufeffb", "ab"),
    "bidirectional": ("a\u202eb\u2066c", "abc"),
    "tags": ("a\U000e0041\U000e0042b", "ab"),
    "line and paragraph separators": ("a\u2028b\u2029c", "abc"),
    "letters of any script stay": ("日本 ñ عربي 😀", "日本 ñ عربي 😀"),
}


@pytest.mark.parametrize(("text", "shown"), HOSTILE.values(), ids=HOSTILE)
def test_only_what_can_be_seen_is_shown(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_a_tool_has_one_line_whatever_it_holds() -> None:
    hostile = tool("evil", "a\n- admin: b\u2028- root: c", **{"x\ny": "string"})
    lines = written([hostile], 10_000).text.split("\n")
    assert len(lines) == 2
    assert lines[1].startswith("- evil(x y): a")


def test_a_huge_description_costs_a_line() -> None:
    assert len(written([tool("a", "x" * 1_000_000)], 10_000).text) < 200
