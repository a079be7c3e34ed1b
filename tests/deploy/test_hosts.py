"""What runs on one machine: compose and systemd."""

import re
import subprocess
from pathlib import Path
from shutil import which
from typing import Any

import pytest
import yaml

from app import __version__
from app.settings import Settings
from tests.deploy.manifests import DEPLOY

COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
PROXY = DEPLOY / "compose" / "haproxy.cfg"
UNIT = DEPLOY / "systemd" / "toolfold.service"
FLUSH = 3
"""Seconds behind the last request, as `app.lifecycle` has it."""


def settings(said: dict[str, Any]) -> Settings:
    return Settings(**{name.removeprefix("TOOLFOLD_").lower(): text for name, text in said.items()})


def test_compose_runs_two_replicas_that_share_a_store_behind_a_proxy() -> None:
    services = COMPOSE["services"]
    toolfold = services["toolfold"]
    assert toolfold["deploy"]["replicas"] == 2
    assert toolfold["image"] == f"toolfold:{__version__}"
    assert settings(toolfold["environment"]).store == "redis"
    assert "ports" not in toolfold
    assert services["proxy"]["ports"] == ["127.0.0.1:8080:8080"]
    for service in services.values():
        assert service["read_only"]
        assert {*service.get("depends_on", {})} <= services.keys()
    assert Path(DEPLOY, services["proxy"]["volumes"][0].split(":")[0]) == PROXY


def test_compose_gives_a_replica_the_time_to_leave() -> None:
    said = COMPOSE["services"]["toolfold"]["environment"]
    needed = int(said["TOOLFOLD_DRAIN_DELAY"]) + int(said["TOOLFOLD_GRACE"]) + FLUSH
    assert int(COMPOSE["services"]["toolfold"]["stop_grace_period"].removesuffix("s")) > needed


def test_the_proxy_balances_what_compose_starts() -> None:
    text = PROXY.read_text()
    replicas, host, port = re.findall(r"server-template replica (\d+) (\w+):(\d+)", text)[0]
    assert host in COMPOSE["services"]
    assert int(replicas) == COMPOSE["services"][host]["deploy"]["replicas"]
    assert int(port) == Settings().port
    [checked] = re.findall(r"check port (\d+)", text)
    assert int(checked) == Settings().admin_port


def test_haproxy_takes_its_configuration() -> None:
    if which("haproxy") is None:
        pytest.skip("haproxy is not installed: apt-get install haproxy")
    checked = subprocess.run(["haproxy", "-c", "-f", PROXY], capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr.decode()


def test_the_unit_gives_the_process_the_time_to_leave() -> None:
    [seconds] = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT.read_text(), re.MULTILINE)
    text = (UNIT.parent / "toolfold.env").read_text()
    said: dict[str, Any] = dict(re.findall(r"^(TOOLFOLD_\w+)=(.*)$", text, re.MULTILINE))
    assert settings(said).upstream_base_url == Settings().upstream_base_url
    needed = int(said["TOOLFOLD_DRAIN_DELAY"]) + int(said["TOOLFOLD_GRACE"]) + FLUSH
    assert int(seconds) > needed


def test_systemd_takes_the_unit_and_finds_it_well_confined(tmp_path: Path) -> None:
    if which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: apt-get install systemd")
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/toolfold/bin/toolfold", "/bin/true"))
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, check=False
    )
    assert (verified.returncode, verified.stderr) == (0, b"")
    rated = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit],
        capture_output=True,
        check=False,
    )
    assert rated.returncode == 0, rated.stdout.decode()
