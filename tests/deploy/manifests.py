"""What is deployed, rendered as an operator would render it, with no cluster and no network."""

import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

import helm_python
import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
CHART = DEPLOY / "helm" / "toolfold"
APP = {
    "name": "app",
    "image": "app:1.0.0",
    "env": [{"name": "A", "value": "1"}],
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    },
    "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}},
}
FULL: dict[str, Any] = {
    "settings": {"store_entries": 1_000_000, "min_saving": 0.25, "direct": ["a*", "family:b"]},
    "upstreamKey": {"secret": "keys"},
    "redis": {"secret": "redis"},
    "env": [{"name": "TOOLFOLD_RANKER_KEY", "value": "k"}],
    "imagePullSecrets": [{"name": "registry"}],
    "existingPolicy": "policies",
    "gateway": {
        "nodeSelector": {"a": "b"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
    },
}
CHARTS: dict[str, dict[str, Any]] = {
    "helm gateway": {},
    "helm gateway, all used": FULL,
    "helm sidecar": {"shape": "sidecar", "sidecar": {"app": APP}},
    "helm sidecar, all used": FULL | {"shape": "sidecar", "sidecar": {"app": APP}},
}
OVERLAYS = {
    "kustomize gateway": ["overlays/gateway"],
    "kustomize gateway with redis": ["overlays/gateway", "components/redis"],
    "kustomize sidecar": ["overlays/sidecar"],
}
NAMES = [*OVERLAYS, *CHARTS]
GATEWAYS = [name for name in NAMES if "gateway" in name]
SIDECARS = [name for name in NAMES if "sidecar" in name]

Object = dict[str, Any]
"""A Kubernetes object."""


@cache
def rendered(name: str) -> list[Object]:
    """The objects of one of NAMES."""
    return _kustomized(*OVERLAYS[name]) if name in OVERLAYS else charted(CHARTS[name])


def charted(values: dict[str, Any]) -> list[Object]:
    """The objects that the chart makes of values. Raises HelmError."""
    with helm_python.Chart.load(CHART) as chart:
        texts = chart.render(values, name="toolfold", namespace="models")
    manifests = (text for path, text in texts.items() if not path.endswith(".txt"))
    return [one for text in manifests for one in yaml.safe_load_all(text) if one]


def _kustomized(overlay: str, *components: str) -> list[Object]:
    if which("kubectl") is None:
        pytest.skip("kubectl is not installed: apt-get install kubernetes-client")
    with TemporaryDirectory(dir=KUBERNETES, prefix=".") as folder:
        wanted = {
            "resources": [f"../{overlay}"],
            "components": [f"../{component}" for component in components],
        }
        (Path(folder) / "kustomization.yaml").write_text(yaml.safe_dump(wanted))
        built = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, check=True)
    return list(yaml.safe_load_all(built.stdout))


def one(objects: list[Object], kind: str) -> Object:
    """The only object of a kind."""
    [found] = [each for each in objects if each["kind"] == kind]
    return found


def pod(objects: list[Object]) -> Object:
    """What the Deployment's pods are."""
    found: Object = one(objects, "Deployment")["spec"]["template"]["spec"]
    return found


def containers(spec: Object) -> Iterator[Object]:
    """All containers of a pod."""
    yield from spec.get("initContainers", [])
    yield from spec["containers"]


def toolfold(objects: list[Object]) -> Object:
    """Toolfold's container."""
    [found] = [each for each in containers(pod(objects)) if each["name"] == "toolfold"]
    return found


def environment(objects: list[Object]) -> dict[str, str]:
    """The variables of Toolfold's container; "" for those from a Secret."""
    container = toolfold(objects)
    maps = {each["metadata"]["name"]: each for each in objects if each["kind"] == "ConfigMap"}
    made: dict[str, str] = {}
    for source in container.get("envFrom", []):
        made |= maps[source["configMapRef"]["name"]]["data"]
    return made | {each["name"]: each.get("value", "") for each in container.get("env", [])}
