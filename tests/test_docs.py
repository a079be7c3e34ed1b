"""What the documentation says is so: C62."""

import re
from pathlib import Path
from typing import get_args

import pytest

from app.core.address import Addressee
from app.settings import Settings
from docs.blocks import ROOT, blocks, pages
from docs.check import check
from docs.diagram import KINDS, outcome
from docs.generated import generated
from docs.reasons import codes, fallbacks, reasons
from docs.stage import example_request, stage
from docs.trial import attempt
from tests.builders import dumps, reply
from tests.conftest import start_proxy

TEXTS = {page: (ROOT / page).read_text() for page in pages()}
TROUBLE = TEXTS["docs/troubleshooting.md"]
_LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)")


def section(title: str) -> str:
    """A part of the page about trouble, up to the next heading of its level."""
    _, _, rest = TROUBLE.partition(f"\n## {title}\n")
    assert rest, f"there is no section `{title}`"
    return rest.partition("\n## ")[0]


def first_cells(text: str) -> set[str]:
    """The words in code in the first column of tables."""
    rows = re.findall(r"^\| (`[^|]+) \|", text, flags=re.MULTILINE)
    return {word for row in rows for word in re.findall(r"`([^`]+)`", row)}


@pytest.mark.parametrize("path", generated())
def test_what_is_generated_is_current(path: str) -> None:
    assert (ROOT / path).read_text() == generated()[path], "run `make docs`"


@pytest.mark.parametrize("page", [page for page in TEXTS if list(blocks(page, TEXTS[page]))])
def test_every_command_and_configuration_is_as_its_page_says(page: str) -> None:
    outcomes = check(page)
    assert outcomes
    assert [f"{one.block.where}: {one.detail}" for one in outcomes if one.result == "failed"] == []


def test_every_reason_has_a_row_and_every_row_a_reason() -> None:
    assert first_cells(section("By reason")) == reasons()


def test_every_error_code_has_a_row_and_every_row_a_code() -> None:
    assert first_cells(section("By error code")) == codes()


def test_every_fallback_of_a_ranker_has_a_row() -> None:
    assert first_cells(section("Why a ranker was not served")) == fallbacks()


async def test_every_header_of_a_reply_has_a_row() -> None:
    async with start_proxy(reply("Hi"), mode="auto") as proxy:
        told = (await proxy.post(dumps(example_request(100)))).headers
    ours = {name for name in told if name.startswith("x-toolfold-")}
    assert ours
    assert ours <= {name.lower() for name in first_cells(section("By header"))}


@pytest.mark.parametrize("page", TEXTS)
def test_every_variable_that_is_named_is_a_setting(page: str) -> None:
    named = set(re.findall(r"\bTOOLFOLD_([A-Z_]*[A-Z])\b", TEXTS[page]))
    assert {name.lower() for name in named} - {"name", "retrieval_dir"} <= set(
        Settings.model_fields
    )


def test_the_limits_are_those_of_the_settings() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| ([\d,.]+)", TEXTS["docs/limits.md"], re.MULTILINE)
    said = {name.lower(): float(default.replace(",", "")) for name, default in rows}
    assert len(said) == len(rows) == 20
    assert said == {name: Settings.model_fields[name].default for name in said}


@pytest.mark.parametrize("page", TEXTS)
def test_links_lead_somewhere(page: str) -> None:
    for path, anchor in _LINK.findall(TEXTS[page]):
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), path
        if anchor:
            headings = re.findall(r"^#+ (.+)$", target.read_text(), flags=re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}


def test_every_page_is_in_the_index_or_in_the_readme() -> None:
    linked = {path for path, _ in _LINK.findall(TEXTS["docs/README.md"])}
    linked |= {path.removeprefix("docs/") for path, _ in _LINK.findall(TEXTS["README.md"])}
    wanted = {page.removeprefix("docs/") for page in TEXTS if page.startswith("docs/")}
    assert wanted - {"README.md"} <= linked


def test_the_readme_can_be_read_in_one_go() -> None:
    assert len(TEXTS["README.md"].splitlines()) < 200


def test_the_diagram_knows_every_addressee() -> None:
    assert {kind.to for kind in KINDS} - {None} == set(get_args(Addressee))


def test_the_diagram_shows_every_outcome() -> None:
    assert {outcome(kind) for kind in KINDS} == {"end", "continue", "again"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```ruby\nputs 1\n```\n", "`ruby` cannot be tried"),
        ("```sh\nls\n", "not closed"),
    ],
    ids=["a language without a trial", "no end"],
)
def test_a_block_that_nobody_would_try_is_a_fault(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        list(blocks("page.md", text))


FALSE = {
    "a command that fails": "```sh\nfalse\n```\n",
    "a command in the middle that fails": "```sh\nfalse\ntrue\n```\n",
    "another output": "```sh\necho one\n```\n\n```text shows\ntwo\n```\n",
    "the lines in another order": "```sh\necho a; echo b\n```\n```text shows\nb\na\n```\n",
    "Python that raises": "```python\n1 / 0\n```\n",
    "JSON that is none": '```json\n{"a": }\n```\n',
    "a policy that there is not": "```yaml\nversion: 1\npolicies: {a: {hiden: []}}\n```\n",
    "a flag that there is not": "```sh\ntoolfold serve --modes on\n```\n",
}


@pytest.mark.parametrize("text", FALSE.values(), ids=FALSE)
def test_what_is_false_fails(text: str, tmp_path: Path) -> None:
    with stage(tmp_path) as on:
        assert [one.result for one in attempt(list(blocks("page.md", text)), on)] == ["failed"]


def test_a_mark_holds_for_the_block_right_below_it() -> None:
    marked = "<!-- not run: it costs money -->\n\n```sh\nbuy\n```\n\nWords.\n\n```sh\nls\n```\n"
    assert [one.why_not for one in blocks("page.md", marked)] == ["it costs money", ""]
