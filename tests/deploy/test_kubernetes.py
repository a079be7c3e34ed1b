import json
import subprocess
from pathlib import Path
from shutil import which
from typing import Any

import helm_python
import kubernetes_validate
import pytest
import yaml

from app import __version__
from app.policies.document import Invalid
from app.settings import Settings
from app.tenants import check_policies
from tests.deploy.manifests import (
    APP,
    CHART,
    GATEWAYS,
    KUBERNETES,
    NAMES,
    SIDECARS,
    charted,
    containers,
    environment,
    one,
    pod,
    rendered,
    toolfold,
)

MEGABYTE = 1024 * 1024
FLUSH = 3
"""Seconds behind the last request, as `app.lifecycle` has it."""
OWN_MB = 100
"""Of memory that Toolfold needs for itself."""
PER_BYTE = 4
"""What a byte of a body costs in memory, as the setting `inflight_mb` says."""


@pytest.mark.parametrize("version", ["1.29", "1.33", "1.37"])
@pytest.mark.parametrize("name", NAMES)
def test_every_object_is_valid(name: str, version: str) -> None:
    for each in rendered(name):
        kubernetes_validate.validate(each, version, strict=True)


def restricted(spec: dict[str, Any]) -> list[str]:
    """What a pod does that the Pod Security Standard `restricted` forbids.
    https://kubernetes.io/docs/concepts/security/pod-security-standards/"""
    own = spec.get("securityContext", {})
    faults = [key for key in ("hostNetwork", "hostPID", "hostIPC") if spec.get(key)]
    kinds = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "projected", "secret"}
    kinds |= {"persistentVolumeClaim"}
    for volume in spec.get("volumes", []):
        faults += [f"volume {kind}" for kind in volume.keys() - {"name"} - kinds]
    for each in containers(spec):
        context = own | each.get("securityContext", {})
        capabilities = context.get("capabilities", {})
        checks = {
            "privileged": not context.get("privileged"),
            "may escalate": context.get("allowPrivilegeEscalation") is False,
            "capabilities": capabilities.get("drop") == ["ALL"]
            and {*capabilities.get("add", [])} <= {"NET_BIND_SERVICE"},
            "root": context.get("runAsNonRoot") is True and context.get("runAsUser") != 0,
            "seccomp": context.get("seccompProfile", {}).get("type")
            in ("RuntimeDefault", "Localhost"),
            "host port": not any("hostPort" in port for port in each.get("ports", [])),
        }
        faults += [f"{each['name']}: {check}" for check, holds in checks.items() if not holds]
    return faults


@pytest.mark.parametrize("name", NAMES)
def test_pods_are_restricted(name: str) -> None:
    assert restricted(pod(rendered(name))) == []
    context = (
        pod(rendered(name)).get("securityContext", {}) | toolfold(rendered(name))["securityContext"]
    )
    assert context["readOnlyRootFilesystem"] is True
    assert context["runAsUser"] == context["runAsGroup"] == 65532
    assert pod(rendered(name))["automountServiceAccountToken"] is False


def test_the_check_of_restricted_pods_finds_what_is_forbidden() -> None:
    bare = {"hostPID": True, "volumes": [{"name": "v", "hostPath": {}}], "containers": [APP]}
    assert restricted(bare) == ["hostPID", "volume hostPath", "app: root", "app: seccomp"]


@pytest.mark.parametrize("name", NAMES)
def test_no_service_can_set_a_setting(name: str) -> None:
    """A Service called toolfold would give pods TOOLFOLD_PORT=tcp://10.0.0.1:80."""
    assert pod(rendered(name))["enableServiceLinks"] is False


@pytest.mark.parametrize("name", NAMES)
def test_what_it_may_hold_fits_its_memory(name: str) -> None:
    said = environment(rendered(name))
    held = PER_BYTE * int(said["TOOLFOLD_INFLIGHT_MB"])
    held += int(said["TOOLFOLD_CATALOG_CACHE_MB"]) + int(said["TOOLFOLD_STORE_MB"]) + OWN_MB
    limit = toolfold(rendered(name))["resources"]["limits"]["memory"]
    assert held * MEGABYTE <= _bytes(limit)


def _bytes(quantity: str) -> int:
    return int(quantity[:-2]) * {"Mi": MEGABYTE, "Gi": 1024 * MEGABYTE}[quantity[-2:]]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_mounted_is_there_and_is_a_folder(name: str) -> None:
    """A file that is mounted by itself (subPath) would not change with its ConfigMap."""
    spec = pod(rendered(name))
    mounts = toolfold(rendered(name))["volumeMounts"]
    assert {mount["name"] for mount in mounts} <= {volume["name"] for volume in spec["volumes"]}
    assert all(mount["readOnly"] and "subPath" not in mount for mount in mounts)
    for variable, path in environment(rendered(name)).items():
        if variable.endswith("_FILE"):
            assert path.rpartition("/")[0] in {mount["mountPath"] for mount in mounts}


def opened(name: str, folder: Path) -> Settings:
    """The settings of Toolfold's container, with its policy file where they look for it."""
    maps = (each["data"] for each in rendered(name) if each["kind"] == "ConfigMap")
    [policy] = [data["policy.yaml"] for data in maps if "policy.yaml" in data]
    (folder / "policy.yaml").write_text(policy)
    host = environment(rendered(name)).get("TOOLFOLD_HOST", Settings().host)
    return Settings(host=host, policy_file=str(folder / "policy.yaml"))


@pytest.mark.parametrize("name", ["kustomize gateway", "kustomize sidecar", "helm sidecar"])
def test_its_policies_are_good(name: str, tmp_path: Path) -> None:
    check_policies(opened(name, tmp_path))


def test_a_gateway_without_keys_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(Invalid):
        check_policies(opened("helm gateway", tmp_path))


@pytest.mark.parametrize("name", NAMES)
def test_the_image_is_of_this_version(name: str) -> None:
    assert toolfold(rendered(name))["image"] == f"toolfold:{__version__}"


@pytest.mark.parametrize("name", SIDECARS)
def test_the_sidecar_starts_before_the_app_and_is_asked_by_a_command(name: str) -> None:
    [sidecar] = pod(rendered(name))["initContainers"]
    assert sidecar["restartPolicy"] == "Always"
    assert sidecar["startupProbe"]["exec"]["command"] == ["toolfold", "healthcheck", "--ready"]
    assert sidecar["livenessProbe"]["exec"]["command"] == ["toolfold", "healthcheck"]
    assert "httpGet" not in json.dumps(sidecar)  # the kubelet cannot reach loopback
    said = environment(rendered(name))
    assert {"TOOLFOLD_HOST", "TOOLFOLD_ADMIN_HOST"}.isdisjoint(said)
    assert said["TOOLFOLD_DRAIN_DELAY"] == "0"


@pytest.mark.parametrize("name", SIDECARS)
def test_of_the_app_only_its_base_url_is_changed(name: str) -> None:
    deployment = yaml.safe_load((KUBERNETES / "overlays/sidecar/app.yaml").read_text())
    before = [APP] if name.startswith("helm") else [*containers(pod([deployment]))]
    after = pod(rendered(name))["containers"]
    [url] = [each for each in after[0]["env"] if each["name"] == "OPENAI_BASE_URL"]
    assert url["value"] == "http://127.0.0.1:8080/v1"
    after[0]["env"].remove(url)
    assert after == before
    after[0]["env"].append(url)


@pytest.mark.parametrize("name", GATEWAYS)
def test_the_grace_of_the_pod_covers_all_that_happens_in_it(name: str) -> None:
    said = environment(rendered(name))
    slept = toolfold(rendered(name))["lifecycle"]["preStop"]["sleep"]["seconds"]
    parts = slept, int(said["TOOLFOLD_DRAIN_DELAY"]), int(said["TOOLFOLD_GRACE"]), FLUSH
    assert pod(rendered(name))["terminationGracePeriodSeconds"] > sum(parts) - 1
    assert slept > 0
    assert int(said["TOOLFOLD_DRAIN_DELAY"]) > 0


@pytest.mark.parametrize("name", GATEWAYS)
def test_the_gateway_stays_available(name: str) -> None:
    objects = rendered(name)
    deployment = one(objects, "Deployment")["spec"]
    assert deployment["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert "replicas" not in deployment, "every apply would undo the autoscaler"
    scaler = one(objects, "HorizontalPodAutoscaler")["spec"]
    assert scaler["minReplicas"] >= 2
    assert scaler["metrics"][0]["pods"]["metric"]["name"] == "toolfold_inflight_requests"
    assert one(objects, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    spread = {each["topologyKey"] for each in pod(objects)["topologySpreadConstraints"]}
    assert spread == {"topology.kubernetes.io/zone", "kubernetes.io/hostname"}


@pytest.mark.parametrize("name", GATEWAYS)
def test_everything_selects_the_pods_of_the_deployment(name: str) -> None:
    objects = rendered(name)
    labels = one(objects, "Deployment")["spec"]["template"]["metadata"]["labels"]
    selectors = [
        one(objects, "Deployment")["spec"]["selector"]["matchLabels"],
        one(objects, "Service")["spec"]["selector"],
        one(objects, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        one(objects, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
        *(
            each["labelSelector"]["matchLabels"]
            for each in pod(objects)["topologySpreadConstraints"]
        ),
    ]
    for selector in selectors:
        assert selector.items() <= labels.items()
    target = one(objects, "HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]
    assert target["name"] == one(objects, "Deployment")["metadata"]["name"]


@pytest.mark.parametrize("name", GATEWAYS)
def test_the_gateway_may_talk_only_to_names_upstream_and_store(name: str) -> None:
    policy = one(rendered(name), "NetworkPolicy")["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    ports = {port["port"] for rule in policy["egress"] for port in rule["ports"]}
    has_store = environment(rendered(name)).get("TOOLFOLD_STORE") == "redis"
    assert ports == {53, 443} | ({6379} if has_store else set())
    [admin] = [rule for rule in policy["ingress"] if rule["ports"] == [{"port": "admin"}]]
    assert "namespaceSelector" in admin["from"][0]


def test_the_chart_and_the_overlay_make_the_same_container() -> None:
    overlay, chart = (toolfold(rendered(f"{way} gateway")) for way in ("kustomize", "helm"))
    for part in ("ports", "startupProbe", "readinessProbe", "livenessProbe", "lifecycle"):
        assert overlay[part] == chart[part]
    for part in ("securityContext", "resources"):
        assert overlay[part] == chart[part]


def test_the_chart_is_well_formed() -> None:
    report = helm_python.lint(CHART, {}, strict=True, kube_version="v1.33.0")
    assert report["errors"] == []
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == __version__


def test_numbers_and_lists_are_written_as_settings_take_them() -> None:
    said = environment(rendered("helm gateway, all used"))
    assert said["TOOLFOLD_STORE_ENTRIES"] == "1000000"
    assert said["TOOLFOLD_MIN_SAVING"] == "0.25"
    assert said["TOOLFOLD_DIRECT"] == "a*,family:b"


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a setting that there is not": ({"settings": {"max_serches": 1}}, "max_serches"),
    "a secret in a ConfigMap": ({"settings": {"ranker_key": "k"}}, "ranker_key"),
    "a shape that there is not": ({"shape": "daemon"}, "shape"),
    "a value that there is not": ({"replicas": 3}, "replicas"),
    "a number in words": ({"gateway": {"grace": "a minute"}}, "grace"),
    "a sidecar of nothing": ({"shape": "sidecar"}, "sidecar.app"),
    "another version of policies": ({"policy": {"version": 2}}, "version"),
}


@pytest.mark.parametrize(("values", "says"), REFUSED.values(), ids=REFUSED)
def test_the_chart_refuses_values_and_names_them(values: dict[str, Any], says: str) -> None:
    with pytest.raises(helm_python.HelmError, match=says):
        charted(values)


@pytest.mark.parametrize("name", NAMES)
def test_checkov_finds_nothing(name: str, tmp_path: Path) -> None:
    if which("checkov") is None:
        pytest.skip("checkov is not installed: pip install checkov")
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(rendered(name)))
    command = ["checkov", "--framework", "kubernetes", "--skip-download", "--compact", "--quiet"]
    # Namespaces, digests and pull policies are the operator's; limits of processor time only slow
    # an event loop; the example's app, its network and where its key is are not ours.
    skipped = (
        "CKV_K8S_21,CKV_K8S_43,CKV_K8S_15,CKV_K8S_11,CKV_K8S_8,CKV_K8S_9,CKV_K8S_35,CKV2_K8S_6"
    )
    ended = subprocess.run(
        [*command, "--skip-check", skipped, "-d", str(tmp_path)], capture_output=True, check=False
    )
    assert ended.returncode == 0, ended.stdout.decode()
