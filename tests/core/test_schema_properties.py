"""What holds for any schema: compaction only loosens, never grows, keeps the arguments."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry

from app.core.codec import Json, decode, encode
from app.core.schema.budget import compact
from app.core.schema.ladder import RUNGS, Rung
from app.core.schema.profiles import gemini
from app.core.schema.refs import resolved
from app.core.schema.walk import mapped
from tests.schemas import ARGUMENTS, schemas

MODEST = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def allows(schema: Json, arguments: Json) -> bool:
    """The verdict of the library itself."""
    return bool(Draft202012Validator(schema, registry=Registry()).is_valid(arguments))


def names(schema: Json) -> list[str]:
    return list(schema["properties"])


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.__name__)
@given(schema=schemas(), arguments=ARGUMENTS)
@MODEST
def test_a_rung_takes_all_that_was_taken_and_never_grows(
    rung: Rung, schema: Json, arguments: Json
) -> None:
    before = encode(schema)
    new = rung(schema)
    assert encode(schema) == before, "the schema that validates is never touched"
    assert len(encode(new)) <= len(before)
    assert decode(encode(new)) == new
    assert set(names(schema)) <= set(names(new))
    assert new.get("required") == schema.get("required")
    if allows(schema, arguments):
        assert allows(new, arguments)


@given(schema=schemas(), arguments=ARGUMENTS, most=st.integers(100, 1_000))
@MODEST
def test_a_schema_in_its_budget_takes_all_that_was_taken(
    schema: Json, arguments: Json, most: int
) -> None:
    new = compact(schema, most)
    assert compact(schema, most) == new
    assert set(names(schema)) <= set(names(new))
    if "$ref" not in schema:
        assert new.get("required") == schema.get("required")
    if allows(schema, arguments):
        assert allows(new, arguments)
    if len(encode(new)) > most:
        assert not any(key in new for key in ("anyOf", "oneOf", "allOf", "$defs", "definitions"))


@given(schema=schemas(), arguments=ARGUMENTS)
@MODEST
def test_resolving_changes_no_verdict(schema: Json, arguments: Json) -> None:
    assert allows(resolved(schema, 100_000), arguments) == allows(schema, arguments)


@given(schema=schemas(), arguments=ARGUMENTS)
@MODEST
def test_the_profile_gemini_takes_all_that_was_taken(schema: Json, arguments: Json) -> None:
    if allows(schema, arguments):
        assert allows(_as_json_schema(gemini(schema)), arguments)


def _as_json_schema(schema: Json) -> Json:
    """OpenAPI's `nullable` in JSON Schema's words."""
    new = mapped(schema, lambda _, inner: _as_json_schema(inner))
    if new.pop("nullable", False):
        return {"anyOf": [new, {"type": "null"}]}
    return new
