"""Facts about the catalog that the demo's claims rest on."""

import json
import re
import subprocess
import sys

import pytest
from jsonschema import Draft202012Validator

from app.demo.catalog import LARGE, SMALL, catalog
from app.demo.dialogue import DIALOGUE
from app.demo.rules import refusal
from app.demo.tasks import TASKS

from .builders import Json, request

TOOLS = catalog(300)
NAMES = [tool["function"]["name"] for tool in TOOLS]
STEPS = [step for task in (*TASKS, *DIALOGUE) for stage in task.stages for step in stage]


def compact(tools: list[Json]) -> str:
    return json.dumps(tools, ensure_ascii=False, separators=(",", ":"))


def test_300_tools_of_20_families_and_more_have_names_of_their_own() -> None:
    assert len(set(NAMES)) == 300
    assert len(SMALL) + len(LARGE) >= 20


def test_the_whole_weighs_what_a_large_catalog_weighs() -> None:
    assert 220_000 <= len(compact(TOOLS).encode()) <= 260_000


@pytest.mark.parametrize("size", [300, 41, 12])
def test_smaller_catalogs_are_its_beginning(size: int) -> None:
    assert catalog(size) == TOOLS[:size]


@pytest.mark.parametrize("size", [0, 301])
def test_no_other_sizes(size: int) -> None:
    with pytest.raises(ValueError, match="1 to 300"):
        catalog(size)


def test_the_upstream_accepts_it_but_for_its_length() -> None:
    assert refusal(request(tools=TOOLS), max_tools=None) is None
    assert refusal(request(tools=TOOLS)) is not None


@pytest.mark.parametrize(
    "style",
    [r"[a-z]+__[a-z_]+", r"[a-z]+(_[a-z]+)+", r"[a-z]+(-[a-z]+)+", r"[a-z]+([A-Z][a-z]+)+"],
    ids=["double", "snake", "kebab", "camel"],
)
def test_every_style_of_naming_is_common(style: str) -> None:
    assert sum(bool(re.fullmatch(style, name)) for name in NAMES) >= 20


def test_every_tool_has_a_valid_schema_and_says_something_of_its_own() -> None:
    functions = [tool["function"] for tool in TOOLS]
    for function in functions:
        Draft202012Validator.check_schema(function["parameters"])
    assert len({function["description"] for function in functions}) == 300


def test_the_schemas_are_as_varied_as_real_ones() -> None:
    text = compact(TOOLS)
    for part in ('"enum"', '"items"', '"format"', '"minimum"', '"required"', '"type":"object"'):
        assert text.count(part) >= 50, part


def test_what_the_tasks_need_is_in_the_smallest_catalog() -> None:
    parameters = {tool["function"]["name"]: tool["function"]["parameters"] for tool in catalog(12)}
    for step in STEPS:
        placed = step.filled({"tracking_number": "TN1"})
        Draft202012Validator(parameters[step.tool]).validate(placed)


def test_queries_are_a_few_words_that_do_not_name_the_tool() -> None:
    for step in STEPS:
        for query in step.queries:
            assert 2 <= len(query.split()) <= 6
            assert step.tool not in query


def test_another_process_builds_the_same_bytes() -> None:
    script = "import json; from app.demo.catalog import catalog; print(json.dumps(catalog(300)))"
    built = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert json.loads(built.stdout) == TOOLS
    assert built.stdout.decode().strip() == json.dumps(TOOLS)
