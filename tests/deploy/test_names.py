"""What is said of Toolfold under deploy/ and in the Dockerfile is so."""

import re
from pathlib import Path

import pytest
from pydantic import SecretStr

from app.settings import Settings
from tests.deploy.manifests import DEPLOY, GATEWAYS, NAMES, ROOT, environment, rendered, toolfold

FILES = [
    ROOT / "Dockerfile",
    *sorted(path for path in DEPLOY.rglob("*") if path.is_file() and path.suffix != ".tgz"),
]
VARIABLES = {f"TOOLFOLD_{name.upper()}" for name in Settings.model_fields}
MADE_BY_A_TEMPLATE = "TOOLFOLD_{{"


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])
def test_every_variable_is_a_setting(path: Path) -> None:
    named = set(re.findall(r"\bTOOLFOLD_[A-Z_]+\b", path.read_text()))
    assert named - VARIABLES == set()


@pytest.mark.parametrize("name", NAMES)
def test_every_value_is_one_that_the_setting_takes(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = environment(rendered(name))
    assert said.keys() <= VARIABLES
    (tmp_path / "file").write_text("x")
    for variable, value in said.items():
        is_there = value and not variable.endswith("_FILE")
        secret = Settings.model_fields[variable.removeprefix("TOOLFOLD_").lower()].annotation
        text = value if is_there else str(tmp_path / "file")
        monkeypatch.setenv(variable, "k" if secret is SecretStr else text)
    Settings()


@pytest.mark.parametrize("name", GATEWAYS)
def test_ports_are_those_of_the_settings(name: str) -> None:
    ports = {port["name"]: port["containerPort"] for port in toolfold(rendered(name))["ports"]}
    assert ports == {"http": Settings().port, "admin": Settings().admin_port}


def test_the_image_names_the_ports_of_the_settings() -> None:
    [exposed] = re.findall(r"^EXPOSE (.*)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert exposed == f"{Settings().port} {Settings().admin_port}"


OUR_PATHS = re.compile(r"/(?:healthz|readyz|metrics|drain|stats|ui)\b")


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])
def test_every_path_is_one_of_the_admin_port(path: Path) -> None:
    """Its routes stand in `app.admin`."""
    source = (ROOT / "app" / "admin.py").read_text()
    assert {
        found for found in OUR_PATHS.findall(path.read_text()) if f'"{found}"' not in source
    } == set()
