"""What is written down about policies is true: the example, the schema, the docs."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from app.core.policy import FIELDS
from app.policies.reader import read
from app.policies.reference import document, schema
from tests.test_policies import BASE, BROKEN

ROOT = Path(__file__).parent.parent
EXAMPLE = (ROOT / "deploy" / "policy.example.yaml").read_bytes()


def test_the_example_is_good() -> None:
    policies = read(EXAMPLE, BASE)
    assert {name: tenant.policy.mode for name, tenant in policies.by_name.items()} == {
        "acme": "auto",
        "helpdesk": "auto",
        "reporting": "observe",
    }
    assert policies.by_name["helpdesk"].policy.default_exposure == "hidden"
    assert policies.by_name["reporting"].policy.hidden == ("*_delete", "family:vault")
    for number, name in enumerate(("acme", "acme", "helpdesk"), 1):
        found = policies.with_key(f"example-key-{number}".encode())
        assert found is not None
        assert found.name == name


def test_the_schema_admits_the_example() -> None:
    shipped = json.loads((ROOT / "app" / "policies" / "policy.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(shipped)
    jsonschema.validate(yaml.safe_load(EXAMPLE), shipped)


AGREED = ["a number out of range", "a number in quotes", "a mode that there is not", "no version"]
AGREED += ["an unknown key", "another version", "a list", "a text where a list is wanted"]


@pytest.mark.parametrize("name", AGREED)
def test_the_schema_refuses_what_the_reader_refuses(name: str) -> None:
    value: Any = yaml.safe_load(BROKEN[name][0])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(value, schema())


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_stands_in_the_docs(name: str) -> None:
    assert f"| `{name}` |" in document()
