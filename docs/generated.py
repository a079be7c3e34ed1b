"""What the documentation takes from the code, so that it cannot say anything else."""

import json

from pydantic import SecretStr

from app.policies.reference import document, schema
from app.settings import Settings
from docs.blocks import ROOT
from docs.diagram import diagram
from docs.picture import picture

__all__ = ["ROOT", "generated"]

_SETTINGS = """\
# Settings

Environment variables, or flags of `toolfold serve` (`--upstream`, `--port`, `--min-tokens`, ...); a
flag wins over the environment. Written by `make docs`: what is said here is said in the code.

| variable | default | meaning |
|---|---|---|
"""
_EXAMPLE = """\
# Every setting of Toolfold with its default. Each is also a flag of `toolfold serve`;
# a flag wins over the environment. Written by `make docs`.
"""


def generated() -> dict[str, str]:
    """Path and text of every file."""
    return {
        ".env.example": _example(),
        "app/policies/policy.schema.json": json.dumps(schema(), indent=2) + "\n",
        "docs/before-and-after.svg": picture(),
        "docs/policy.md": document(),
        "docs/settings.md": _settings(),
        "docs/turn.md": diagram(),
    }


def _settings() -> str:
    rows = (
        f"| `TOOLFOLD_{name.upper()}` | {f'`{default}`' if default else ''} | {meaning} |\n"
        for name, default, meaning in _fields()
    )
    return _SETTINGS + "".join(rows)


def _example() -> str:
    lines = (
        f"\n# {meaning}\n#TOOLFOLD_{name.upper()}={default}\n"
        for name, default, meaning in _fields()
    )
    return _EXAMPLE + "".join(lines)


def _fields() -> list[tuple[str, str, str]]:
    """Name, default and meaning of every setting."""
    return [
        (name, _written(field.default), field.description or "")
        for name, field in Settings.model_fields.items()
    ]


def _written(default: object) -> str:
    match default:
        case tuple():
            return ",".join(default)
        case SecretStr():
            return default.get_secret_value()
        case bool():
            return str(default).lower()
        case _:
            return str(default)
