"""What the documentation takes from the code, so that it cannot say anything else."""

import json
import re

from pydantic import SecretStr

from app.policies.reference import document, schema
from app.settings import Settings
from app.telemetry.instruments import COUNTERS, GAUGES, HISTOGRAMS
from docs.blocks import ROOT
from docs.diagram import diagram
from docs.picture import picture

_VALUES = "deploy/helm/toolfold/values.schema.json"
_SETTINGS = """\
# Settings

Environment variables, or flags of `toolfold serve` (`--upstream`, `--port`, `--min-tokens`, ...); a
flag wins over the environment. Written by `make docs`: what is said here is said in the code.

| variable | default | meaning |
|---|---|---|
"""
_METRICS = """\
# Metrics

Prometheus metrics at `/metrics` of the admin port. Written by `make docs`: what is said here is
said in the code. Labels come from closed sets: a tenant that is not in the policy file and a model
that no upstream has answered for are `other`, and so are those beyond `TOOLFOLD_METRICS_TENANTS`
and `TOOLFOLD_METRICS_MODELS`. Beside these there are `toolfold_build_info` and `process_*`.

Tokens saved, net, of a tenant over an hour; it may be negative:

```promql
sum by (tenant) (
    increase(toolfold_tool_tokens_offered_total[1h])
  - increase(toolfold_tool_tokens_sent_total[1h])
  - increase(toolfold_search_round_tokens_total[1h])
)
```

| metric | type | labels | meaning |
|---|---|---|---|
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
        "docs/metrics.md": _metrics(),
        "docs/policy.md": document(),
        "docs/settings.md": _settings(),
        _VALUES: _values((ROOT / _VALUES).read_text()),
        "docs/turn.md": diagram(),
    }


def _settings() -> str:
    rows = (
        f"| `TOOLFOLD_{name.upper()}` | {f'`{default}`' if default else ''} | {meaning} |\n"
        for name, default, meaning in _fields()
    )
    return _SETTINGS + "".join(rows)


def _metrics() -> str:
    named = [
        *((f"{name}_total", "counter", *what) for name, what in COUNTERS.items()),
        *((name, "histogram", *what[:2]) for name, what in HISTOGRAMS.items()),
        *((name, "gauge", *what) for name, what in GAUGES.items()),
    ]
    rows = (
        f"| `{name}` | {kind} | {', '.join(f'`{label}`' for label in labels)} | {text} |\n"
        for name, kind, text, labels in named
    )
    return _METRICS + "".join(rows)


def _example() -> str:
    lines = (
        f"\n# {meaning}\n#TOOLFOLD_{name.upper()}={default}\n"
        for name, default, meaning in _fields()
    )
    return _EXAMPLE + "".join(lines)


def _values(schema: str) -> str:
    """The schema of the chart's values, with the names of `settings`; secrets are not values."""
    fields = Settings.model_fields.items()
    names = [name for name, field in fields if field.annotation is not SecretStr]
    listed = json.dumps(names, indent=2).replace("\n", "\n" + " " * 8)
    return re.sub(r'(?<="propertyNames": {\n        "enum": )\[[^]]*]', listed, schema)


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
