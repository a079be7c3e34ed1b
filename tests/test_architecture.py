"""The shape of the code, held: the ladder, the purity, the sizes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CORE = ROOT / "app" / "core"
SHELL = {
    "cli": 12,
    "views": 10,
    "explain": 9,
    "main": 8,
    "api": 7,
    "planner": 6,
    "admin": 6,
    "writers": 5,
    "memory": 5,
    "rankers": 5,
    "doctor": 9,
    "admission": 3,
    "guard": 3,
    "lifecycle": 3,
    "policy_commands": 11,
    "flags": 4,
    "tenants": 4,
    "identity": 3,
    "policies": 2,
    "endpoints": 3,
    "stores": 3,
    "drive": 3,
    "spoken": 4,
    "upstream": 3,
    "catalogs": 3,
    "learned": 3,
    "telemetry": 4,
    "trace": 2,
    "tokens": 3,
    "settings": 3,
    "http": 2,
    "breaker": 2,
    "checks": 2,
    "page": 2,
    "gather": 2,
    "protocol": 2,
    "unpack": 2,
    "sse": 2,
    "core": 1,
}
"""How far each module of the shell stands from the core: imports only go down."""
SOURCES = sorted(
    path for top in ("app", "bench", "docs", "tests") for path in (ROOT / top).rglob("*.py")
)


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def ladder() -> list[str]:
    listing = (CORE / "__init__.py").read_text()
    return re.findall(r"^    (\w+) {2,}", listing, flags=re.MULTILINE)


def test_the_ladder_lists_every_file_of_the_core() -> None:
    files = {path.stem for path in CORE.iterdir() if not path.stem.startswith("__")}
    assert set(ladder()) == files


@pytest.mark.parametrize("name", ladder())
def test_a_core_file_imports_only_from_those_before_it(name: str) -> None:
    order = ladder()
    paths = [CORE / f"{name}.py"] if (CORE / f"{name}.py").exists() else (CORE / name).rglob("*.py")
    for path in paths:
        for module in imported(path):
            if module.startswith("app."):
                assert module.startswith("app.core."), f"{path.name} imports {module}"
                assert order.index(module.split(".")[2]) <= order.index(name), module


@pytest.mark.parametrize("name", [name for name in SHELL if name != "core"])
def test_the_shell_imports_only_downwards(name: str) -> None:
    path = ROOT / "app" / name
    for module in (
        m for p in [path.with_suffix(".py"), *path.rglob("*.py")] if p.exists() for m in imported(p)
    ):
        parts = module.split(".")
        if parts[0] == "app" and parts[1] not in ("__version__", "demo"):
            below = [part for part in parts[1:2] if part in SHELL]
            assert below, module
            if below[0] != name:
                assert SHELL[below[0]] < SHELL[name] or below[0] == "core", f"{name}: {module}"


def test_every_module_of_the_shell_has_its_place() -> None:
    files = {path.stem for path in (ROOT / "app").iterdir() if not path.stem.startswith("__")}
    assert files - {"demo"} == set(SHELL)


@pytest.mark.parametrize("path", SOURCES, ids=[str(path.relative_to(ROOT)) for path in SOURCES])
def test_no_file_is_longer_than_300_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 300


WITHOUT_A_TEST_OF_THEIR_OWN = {"dialect", "errors", "ranking", "wording"}
"""The tree of errors, packages, and words: tested where they are used."""


@pytest.mark.parametrize("name", sorted(set(ladder()) - WITHOUT_A_TEST_OF_THEIR_OWN))
def test_every_core_file_has_its_test(name: str) -> None:
    assert (ROOT / "tests" / "core" / f"test_{name}.py").exists()


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.py")), ids=lambda path: path.stem)
def test_the_core_awaits_nothing(path: Path) -> None:
    awaiting = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    assert not [
        node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, awaiting)
    ]


@pytest.mark.parametrize("path", SOURCES, ids=[str(path.relative_to(ROOT)) for path in SOURCES])
def test_only_settings_read_the_environment(path: Path) -> None:
    if "app" in path.parts and "demo" not in path.parts and path.name != "settings.py":
        assert not {"os.environ", "os.getenv", "os"} & set(imported(path))
