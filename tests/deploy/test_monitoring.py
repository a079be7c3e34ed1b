import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import pytest
import yaml

from app.telemetry.instruments import COUNTERS, GAUGES, HISTOGRAMS
from tests.deploy.manifests import DEPLOY
from tests.deploy.promql import Asked, asked

RULES = DEPLOY / "prometheus" / "alerts.yaml"
DASHBOARD = json.loads((DEPLOY / "grafana" / "toolfold.json").read_text())
SCRAPED = frozenset({"instance", "job"})
"""Labels that Prometheus puts on everything."""


def exported() -> dict[str, frozenset[str]]:
    """Every series that Toolfold has, with its labels."""
    series = {f"{name}_total": frozenset(labels) for name, (_, labels) in COUNTERS.items()}
    series |= {name: frozenset(labels) for name, (_, labels) in GAUGES.items()}
    for name, (_, labels, _buckets) in HISTOGRAMS.items():
        series |= {f"{name}_{part}": frozenset(labels) for part in ("sum", "count")}
        series[f"{name}_bucket"] = frozenset({*labels, "le"})
    others = {"up": frozenset[str](), "toolfold_build_info": frozenset({"version"})}
    process = ("process_resident_memory_bytes", "process_cpu_seconds_total")
    return series | others | dict.fromkeys(process, frozenset[str]())


def expressions() -> Iterator[tuple[str, str]]:
    """Where an expression stands, and the expression."""
    for rule in yaml.safe_load(RULES.read_text())["groups"][0]["rules"]:
        yield rule["alert"], rule["expr"]
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", []):
            yield f"{panel['title']} {target['refId']}", target["expr"]
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.findall(r"label_values\((\w+), (\w+)\)", variable["definition"])[0]
            yield variable["name"], f"sum by ({label}) ({metric})"


EXPRESSIONS = dict(expressions())


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_every_expression_asks_for_what_is_exported(expression: str) -> None:
    metrics, labels = asked(expression)
    assert metrics
    assert metrics - exported().keys() == set()
    assert labels - SCRAPED - frozenset().union(*(exported()[name] for name in metrics)) == set()


def test_the_autoscaler_asks_for_what_is_exported() -> None:
    adapter = yaml.safe_load((DEPLOY / "prometheus" / "adapter.yaml").read_text())
    [rule] = adapter["rules"]["custom"]
    assert asked(rule["seriesQuery"]).metrics <= exported().keys()


ASKED: dict[str, tuple[str, Asked]] = {
    "a name": ("up", Asked(frozenset({"up"}), frozenset())),
    "matchers, a window and a function": (
        'rate(a_total{b="x y", c!~"by (d)"}[5m]) > 0.5',
        Asked(frozenset({"a_total"}), frozenset({"b", "c"})),
    ),
    "groups and an operator": (
        "sum by (a, b) (x) / on (c) group_left () y and z",
        Asked(frozenset({"x", "y", "z"}), frozenset({"a", "b", "c"})),
    ),
}


@pytest.mark.parametrize(("expression", "wanted"), ASKED.values(), ids=ASKED)
def test_names_are_found_in_expressions(expression: str, wanted: Asked) -> None:
    assert asked(expression) == wanted


def promtool(*arguments: str | Path) -> None:
    if which("promtool") is None:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    ended = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_rules_are_good() -> None:
    promtool("check", "rules", RULES)


def test_alerts_come_when_they_should_and_not_else() -> None:
    promtool("test", "rules", Path(__file__).parent / "alerts.test.yaml")


def test_every_expression_of_the_dashboard_can_be_read(tmp_path: Path) -> None:
    """Grafana puts times where its own variables stand."""
    rules = [
        {"record": f"panel:{number}", "expr": re.sub(r"\$__(?:rate_interval|range)", "5m", one)}
        for number, one in enumerate(EXPRESSIONS.values())
    ]
    (tmp_path / "rules.yaml").write_text(
        yaml.safe_dump({"groups": [{"name": "a", "rules": rules}]})
    )
    promtool("check", "rules", tmp_path / "rules.yaml")


def test_the_dashboard_has_one_id_a_panel_and_no_overlap() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
