"""The policy file of a running server, and what the command line says of one."""

import asyncio
import json
import re
import signal
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import structlog

from app.core.policy import FIELDS, Policy
from app.main import create_app
from app.policies import Policies, Tenant
from app.policies.document import Invalid
from app.policies.reader import read
from app.policies.watch import PolicyFile
from app.settings import Settings
from app.tenants import Unsafe, resolve
from tests.builders import CATALOG, body, call, dumps, reply, request, search
from tests.conftest import start_proxy
from tests.test_cli import CLEAN, toolfold

ROOT = Path(__file__).parent.parent
BASE = Tenant(Policy(), dict.fromkeys(FIELDS, "default"))
KEY = sha256(b"key").hexdigest()
OFF = "version: 1\npolicies: {p: {mode: off}}\ndefaults: {policy: p}\n"
ON = OFF.replace("off", "on")
BAD = "version: 1\npolicies: {p: {modes: on}}\n"


class Watched:
    """A policy file, and the policies that were made of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.applied: list[Policies] = []
        self.file = PolicyFile(str(path), lambda raw: read(raw, BASE), self.applied.append)

    def look(self) -> list[Any]:
        """What is logged when it is looked at."""
        with structlog.testing.capture_logs() as logs:
            self.file.look()
        return logs

    @property
    def modes(self) -> list[str]:
        return [policies.anybody.policy.mode for policies in self.applied]


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    path = tmp_path / "policy.yaml"
    path.write_text(OFF)
    made = Watched(path)
    made.file.load()
    return made


def test_a_file_that_has_not_changed_is_not_read_again(watched: Watched) -> None:
    assert watched.look() == []
    assert watched.modes == ["off"]


def test_a_change_is_applied(watched: Watched) -> None:
    watched.path.write_text(ON)
    assert [line["event"] for line in watched.look()] == ["policy_file_loaded"]
    assert watched.modes == ["off", "on"]


def test_a_file_in_the_place_of_another_of_the_same_size_is_a_change(watched: Watched) -> None:
    other = watched.path.with_name("other")
    other.write_text(OFF.replace("off", "on "))
    other.replace(watched.path)
    watched.look()
    assert watched.modes == ["off", "on"]


def test_a_link_that_is_turned_round_is_a_change(tmp_path: Path) -> None:
    """A ConfigMap: the file is a link into `..data`, which is a link to a directory."""
    for name, text in (("one", OFF), ("two", ON)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "policy.yaml").write_text(text)
    (tmp_path / "..data").symlink_to("one")
    (tmp_path / "policy.yaml").symlink_to("..data/policy.yaml")
    watched = Watched(tmp_path / "policy.yaml")
    watched.file.load()
    (tmp_path / "..tmp").symlink_to("two")
    (tmp_path / "..tmp").rename(tmp_path / "..data")
    watched.look()
    assert watched.modes == ["off", "on"]


def test_C39_a_bad_file_keeps_the_old_one_and_says_so_once(watched: Watched) -> None:
    watched.path.write_text(BAD)
    (line,) = watched.look()
    assert line["event"] == "policy_file_refused"
    assert line["problems"] == [
        f"{watched.path}:2: policies.p.modes: there is no such key: did you mean `mode`?"
    ]
    assert watched.look() == []
    assert watched.modes == ["off"]
    watched.path.write_text(ON)
    watched.look()
    assert watched.modes == ["off", "on"]


def test_a_file_that_is_gone_keeps_the_old_one_and_says_so_once(watched: Watched) -> None:
    watched.path.unlink()
    (line,) = watched.look()
    assert line["problems"] == [f"{watched.path}:1: cannot be read: No such file or directory"]
    assert watched.look() == []
    watched.path.write_text(ON)
    watched.look()
    assert watched.modes == ["off", "on"]


async def test_it_is_looked_at_now_and_then_and_when_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(OFF)
    applied: asyncio.Queue[str] = asyncio.Queue()

    def apply(policies: Policies) -> None:
        applied.put_nowait(policies.anybody.policy.mode)

    file = PolicyFile(str(path), lambda raw: read(raw, BASE), apply, every=0.01)
    watching = asyncio.create_task(file.watch())
    try:
        async with asyncio.timeout(20):
            assert await applied.get() == "off"
            path.write_text(ON)
            assert await applied.get() == "on"
            file.ask()
            assert await applied.get() == "on"
    finally:
        watching.cancel()


async def test_SIGHUP_has_it_read_and_a_bad_one_is_logged(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(OFF)
    command = [sys.executable, "-m", "app", "serve", "--policy-file", str(path)]
    command += ["--port", "0", "--admin-port", "0"]
    process = await asyncio.create_subprocess_exec(
        *command, env=CLEAN, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None

    async def logged(event: str) -> Any:
        assert process.stderr is not None
        async with asyncio.timeout(30):
            while (line := json.loads(await process.stderr.readline()))["event"] != event:
                pass
        return line

    try:
        await logged("listening")
        await logged("listening")
        process.send_signal(signal.SIGHUP)
        await logged("policy_file_loaded")
        path.write_text(BAD)
        process.send_signal(signal.SIGHUP)
        assert "did you mean `mode`?" in (await logged("policy_file_refused"))["problems"][0]
    finally:
        process.terminate()
        await process.communicate()


# -- at the start ------------------------------------------------------------------------------


def test_C39_a_bad_file_at_the_start_is_an_exit_with_2(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(BAD)
    for file, why in ((path, "did you mean `mode`?"), (tmp_path / "none", "cannot be read")):
        shown = toolfold("serve", "--policy-file", str(file), "--port", "0", "--admin-port", "0")
        assert shown.returncode == 2
        assert f"toolfold: {file}:" in shown.stderr.decode()
        assert why in shown.stderr.decode()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_C48_without_keys_only_loopback_is_served(host: str, tmp_path: Path) -> None:
    shown = toolfold("serve", "--host", host, "--port", "0", "--admin-port", "0")
    assert shown.returncode == 2
    assert "--insecure" in shown.stderr.decode()
    keyless = tmp_path / "policy.yaml"
    keyless.write_text(ON)
    shown = toolfold("serve", "--host", host, "--policy-file", str(keyless))
    assert shown.returncode == 2
    assert "no tenant" in shown.stderr.decode() or "keys" in shown.stderr.decode()


def test_C48_keys_or_the_word_of_the_operator_open_it(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(f"version: 1\ntenants: {{t: {{keys_sha256: [{KEY}]}}}}\n")
    assert create_app(Settings(host="0.0.0.0", policy_file=str(path)))
    assert create_app(Settings(host="0.0.0.0", insecure=True))
    with pytest.raises(Unsafe):
        create_app(Settings(host="0.0.0.0"))


def test_C48_a_reload_cannot_take_the_keys_away(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(f"version: 1\ntenants: {{t: {{keys_sha256: [{KEY}]}}}}\n")
    file = create_app(Settings(host="0.0.0.0", policy_file=str(path))).state.policy_file
    path.write_text("version: 1\ntenants: {t: {}}\n")
    with pytest.raises(Invalid, match="anybody who reaches"):
        file.load()


# -- the command line --------------------------------------------------------------------------


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


def test_the_schema_and_the_docs_are_printed() -> None:
    shipped = ROOT / "app" / "policies" / "policy.schema.json"
    assert toolfold("policy", "schema").stdout == shipped.read_bytes()
    assert toolfold("policy", "docs").stdout == (ROOT / "docs" / "policy.md").read_bytes()


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
    (example,) = re.findall(r"```yaml\n(version: 1\n.*?)```", readme, re.DOTALL)
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


async def test_the_memory_of_tenants_is_apart(tmp_path: Path) -> None:
    """Two tenants behind one gateway, which sends its own key for both."""
    path = tmp_path / "policy.yaml"
    path.write_text("version: 1\ntenants: {a: {}, b: {}}\n")
    one = call("call_0", "get_weather", {"city": "Oslo"})
    later = request()
    later["messages"] += [
        {"role": "assistant", "content": None, "tool_calls": [one]},
        {"role": "tool", "tool_call_id": "call_0", "content": "rain"},
    ]
    script = [reply(search("s1", "refund for Mallory"), one), reply("Done.")]
    async with start_proxy(*script, policy_file=str(path)) as proxy:
        await proxy.post(body(), **{"X-Toolfold-Tenant": "a"})
        for tenant in ("a", "b"):
            await proxy.post(dumps(later), **{"X-Toolfold-Tenant": tenant})

    mine, theirs = (received.body for received in proxy.upstream.received[1:])
    assert b"Mallory" in mine
    assert b"Mallory" not in theirs
