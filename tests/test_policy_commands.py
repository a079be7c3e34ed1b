"""What the command line says of policies, and what the README and the example say is served."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from app.settings import Settings
from app.tenants import resolve
from tests.builders import CATALOG, body, dumps, reply
from tests.conftest import start_proxy
from tests.test_cli import toolfold

ROOT = Path(__file__).parent.parent
BAD = "version: 1\npolicies: {p: {modes: on}}\n"


def test_check_says_good_or_all_that_is_wrong(tmp_path: Path) -> None:
    shown = toolfold("policy", "check", str(ROOT / "deploy" / "policy.example.yaml"))
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert shown.stdout.decode().strip().endswith("good; 3 tenants, 3 keys")

    path = tmp_path / "bad.yaml"
    path.write_text(BAD + "x: 1\n")
    shown = toolfold("policy", "check", str(path))
    assert (shown.returncode, shown.stdout) == (2, b"")
    assert [line.split(":")[1] for line in shown.stderr.decode().splitlines()] == ["2", "3"]
    said = json.loads(toolfold("policy", "check", str(path), "--json").stdout)
    assert [(one["line"], one["path"]) for one in said] == [(2, "policies.p.modes"), (3, "x")]
    assert toolfold("policy", "check", str(tmp_path / "none")).returncode == 2


def test_the_schema_is_printed() -> None:
    shipped = ROOT / "app" / "policies" / "policy.schema.json"
    assert toolfold("policy", "schema").stdout == shipped.read_bytes()


def test_explain_says_where_each_value_comes_from(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("version: 1\npolicies:\n  p:\n    limit: 3\ntenants: {t: {policy: p}}\n")
    given = ("--policy-file", str(path), "--tenant", "t", "--header", "X-Toolfold-Hidden: crm__*")
    arguments = ("explain", "-", *given, "--max-tools", "64")
    said = json.loads(toolfold(*arguments, "--json", stdin=body(), TOOLFOLD_MODE="on").stdout)
    assert said["policy"]["limit"] == {"value": 3, "from": "policies.p.limit, line 4"}
    assert said["policy"]["mode"] == {"value": "on", "from": "setting TOOLFOLD_MODE"}
    assert said["policy"]["max_tools"] == {"value": 64, "from": "setting TOOLFOLD_MAX_TOOLS"}
    assert said["policy"]["hidden"] == {"value": ["crm__*"], "from": "header X-Toolfold-Hidden"}
    assert said["policy"]["strategy"] == {"value": "promote", "from": "default"}
    text = toolfold(*arguments, stdin=body()).stdout.decode()
    assert "policy: limit = 3 (policies.p.limit, line 4)" in text
    assert "strategy" not in text


EXPLAINED = {
    "a tenant that there is not": (("--tenant", "x"), "no tenant `x`"),
    "a header that asks for more": (("--header", "X-Toolfold-Limit: 9"), "ask for 5 or less"),
    "a header that there is not": (("--header", "X-Toolfold-Limits: 9"), "did you mean"),
    "a file that there is not": (("--policy-file", "/nowhere"), "cannot be read"),
}


@pytest.mark.parametrize(("given", "says"), EXPLAINED.values(), ids=EXPLAINED)
def test_explain_refuses_what_the_server_would(given: tuple[str, ...], says: str) -> None:
    shown = toolfold("explain", "-", *given, stdin=body())
    assert shown.returncode == 2
    assert says in shown.stderr.decode()


def test_explain_of_a_request_that_is_observed(tmp_path: Path) -> None:
    raw = dumps({"messages": [], "tools": CATALOG, "model": "m"})
    given = ("--mode", "observe", "--min-tokens", "1", "--min-saving", "0")
    said = json.loads(toolfold("explain", "-", *given, "--json", stdin=raw).stdout)
    assert (said["decision"], said["reason"]) == ("observed", "saves-tokens")
    assert said["tokens"]["sent"] < said["tokens"]["offered"]


SECRETS = {
    "both": {"TOOLFOLD_UPSTREAM_KEY": "sk-x", "TOOLFOLD_UPSTREAM_KEY_FILE": __file__},
    "a file that is not there": {"TOOLFOLD_UPSTREAM_KEY_FILE": "/nowhere"},
    "a key with a line end": {"TOOLFOLD_UPSTREAM_KEY": "sk-x\r\nx: y"},
}


@pytest.mark.parametrize("env", SECRETS.values(), ids=SECRETS)
def test_a_wrong_key_is_said_and_not_shown(env: Any) -> None:
    shown = toolfold("serve", **env)
    assert shown.returncode == 2
    assert "upstream" in shown.stderr.decode().lower()
    assert b"sk-x" not in shown.stderr + shown.stdout


# -- what is written down ---------------------------------------------------------------------


async def test_the_tenant_of_the_readme_is_served_as_it_says(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    (example,) = re.findall(r"```yaml policy.yaml\n(version: 1\n.*?)```", readme, re.DOTALL)
    path = tmp_path / "policy.yaml"
    path.write_text(example)
    tools = [
        {**one, "function": {**one["function"], "name": name}}
        for one, name in zip(
            CATALOG, ["vault__open", "crm__deal_delete", "crm__deal_read"], strict=False
        )
    ]
    async with start_proxy(reply("ok"), policy_file=str(path)) as proxy:
        served = await proxy.post(body(tools), authorization="Bearer sk-acme")
        refused = await proxy.post(body(tools), authorization="Bearer sk-other")
        narrowed = await proxy.post(
            body(tools), authorization="Bearer sk-acme", **{"X-Toolfold-Hidden": "*_read"}
        )

    assert [served.status_code, refused.status_code, narrowed.status_code] == [200, 401, 200]
    first, second = (received.body for received in proxy.upstream.received)
    assert b"crm__deal_read" in first
    assert b"vault__open" not in first
    assert b"_delete" not in first
    assert b"crm__deal_read" not in second


async def test_the_example_is_served_as_it_says() -> None:
    path = str(ROOT / "deploy" / "policy.example.yaml")
    async with start_proxy(reply("ok"), policy_file=path, mode="auto") as proxy:
        support = await proxy.post(body(), authorization="Bearer example-key-3")
        acme = await proxy.post(body(), authorization="Bearer example-key-1")
        trial = await proxy.post(body(), **{"X-Toolfold-Tenant": "reporting"})

    assert [one.status_code for one in (support, acme, trial)] == [200, 200, 200]
    first = proxy.upstream.received[0].body
    assert b"crm__read_deal" in first
    for name in (b"get_weather", b"crm__archive_deal", b"stripe__"):
        assert name not in first
    assert b"get_weather" in proxy.upstream.received[1].body


def test_a_tenants_policy_is_resolved_in_one_place(tmp_path: Path) -> None:
    """Defaults, settings, the file, headers: the last that says something."""
    path = tmp_path / "policy.yaml"
    path.write_text("version: 1\npolicies: {p: {limit: 4}}\ntenants: {t: {policy: p}}\n")
    made = Settings(policy_file=str(path), limit=9, max_searches=3)
    found = resolve(made, "t", ["X-Toolfold-Limit: 2"])
    assert (found.policy.limit, found.policy.max_searches) == (2, 3)
    assert resolve(made, "t").policy.limit == 4
    assert resolve(made).policy.limit == 9
