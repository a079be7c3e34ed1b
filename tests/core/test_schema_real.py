"""Tools of real servers, and arguments made from their own schemas, at every budget."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from app.core.codec import decode, encode
from app.core.schema.budget import SchemaBudget, budgeted, compact
from app.core.schema.profiles import PROFILES, Profile
from app.core.schema.valid import fault
from app.core.tools import parse
from tests.schemas import fitting

FILES = sorted((Path(__file__).parent.parent / "data" / "schemas").glob("*.json"))
REAL = {path.stem: parse(path.read_bytes(), 0) for path in FILES}
IN_1_000 = {"azure_backup_policy": 2_300, "github_projects_write": 1_600}
"""Bytes of those whose arguments alone are larger than the budget."""

TAKES_NOTHING = "notion_post_page"
"""Its `parent` must fit exactly one of three alternatives that every object fits."""


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("budget", ["third_party", 1_000, 100])
@pytest.mark.parametrize("name", REAL)
def test_a_real_tool_goes_through(name: str, budget: SchemaBudget, profile: Profile) -> None:
    tool = REAL[name]
    function = decode(budgeted(tool, budget, profile).raw)["function"]
    assert set(function["parameters"]["properties"]) == set(tool.parameters["properties"])
    assert function["name"] == tool.name


@pytest.mark.parametrize("name", REAL)
def test_a_real_schema_fits_its_budget(name: str) -> None:
    schema = REAL[name].parameters
    assert len(encode(compact(schema, 5_000))) <= 5_000
    assert len(encode(compact(schema, 1_000))) <= IN_1_000.get(name, 1_000)


@pytest.mark.parametrize("most", [5_000, 1_000, 100])
@pytest.mark.parametrize("name", [name for name in REAL if name != TAKES_NOTHING])
@given(data=st.data())
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_a_real_schema_takes_is_still_taken(name: str, most: int, data: st.DataObject) -> None:
    schema = REAL[name].parameters
    arguments = encode(data.draw(fitting(schema))).decode()
    assume(fault(schema, arguments) is None)
    assert fault(compact(schema, most), arguments) is None
