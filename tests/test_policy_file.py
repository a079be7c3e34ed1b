"""The policy file of a running server: at its start, when it changes, and who may be served."""

import asyncio
import json
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
from app.tenants import Unsafe
from tests.builders import body, call, dumps, reply, request, search
from tests.conftest import start_proxy
from tests.test_cli import CLEAN, toolfold

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
    loop = asyncio.get_running_loop()

    def apply(policies: Policies) -> None:
        loop.call_soon_threadsafe(applied.put_nowait, policies.anybody.policy.mode)

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
    with pytest.raises(Invalid, match="cannot be read"):
        create_app(Settings(policy_file=str(tmp_path / "none")))
    shown = toolfold("serve", "--policy-file", str(path), "--port", "0", "--admin-port", "0")
    assert shown.returncode == 2
    assert f"toolfold: {path}:2: policies.p.modes: there is no" in shown.stderr.decode()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
def test_C48_without_keys_only_loopback_is_served(host: str, tmp_path: Path) -> None:
    with pytest.raises(Unsafe, match="--insecure"):
        create_app(Settings(host=host))
    keyless = tmp_path / "policy.yaml"
    keyless.write_text(ON)
    with pytest.raises(Invalid, match="give tenants keys"):
        create_app(Settings(host=host, policy_file=str(keyless)))


def test_C48_the_command_says_so_and_ends_with_2() -> None:
    shown = toolfold("serve", "--host", "0.0.0.0", "--port", "0", "--admin-port", "0")
    assert shown.returncode == 2
    assert "--insecure" in shown.stderr.decode()


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
