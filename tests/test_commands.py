"""Every command as people and programs meet it: C61."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app import __version__
from tests.builders import CATALOG, body
from tests.test_cli import CLEAN, toolfold

REQUEST = body(CATALOG)
EXAMPLE = str(Path(__file__).parent.parent / "deploy" / "policy.example.yaml")
PRINTING: dict[str, list[str]] = {
    "check-config": ["check-config", "--mode", "on"],
    "explain": ["explain", "-", "--mode", "on"],
    "policy check": ["policy", "check", EXAMPLE],
    "search": ["search", "-", "weather"],
    "version": ["version"],
}
"""Commands that print data and end with 0."""
OTHERS = ["serve", "demo", "doctor", "healthcheck", "policy schema"]
COLOUR = re.compile(rb"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;\d+)*m")


@pytest.mark.parametrize("arguments", PRINTING.values(), ids=PRINTING)
def test_a_pipe_gets_no_escapes(arguments: list[str]) -> None:
    ended = toolfold(*arguments, stdin=REQUEST, TERM="xterm-256color")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout
    assert b"\x1b" not in ended.stdout + ended.stderr


@pytest.mark.parametrize("arguments", PRINTING.values(), ids=PRINTING)
def test_programs_get_json_alone(arguments: list[str]) -> None:
    ended = toolfold(*arguments, "--json", stdin=REQUEST)
    assert ended.returncode == 0
    json.loads(ended.stdout)
    assert ended.stderr == b""


def on_a_terminal(*arguments: str, **env: str) -> bytes:
    """What a command shows there."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "app", *arguments]
    env = CLEAN | {"TERM": "xterm-256color"} | env
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    shown = b""
    try:
        while some := os.read(ours, 65_536):
            shown += some
    except OSError:  # how Linux says that the other end is closed
        pass
    finally:
        process.wait()
        os.close(ours)
    return shown


@pytest.mark.parametrize("command", ["--help", "explain", "check-config"])
def test_a_terminal_gets_colours_unless_they_are_not_wanted(command: str, tmp_path: Path) -> None:
    (tmp_path / "request.json").write_bytes(REQUEST)
    file = [str(tmp_path / "request.json")] if command == "explain" else []
    wrong = {"TOOLFOLD_MAX_SERCHES": "3"} if command == "check-config" else {}
    assert COLOUR.search(on_a_terminal(command, *file, **wrong))
    assert not COLOUR.search(on_a_terminal(command, *file, NO_COLOR="1", **wrong))


@pytest.mark.parametrize("command", [*PRINTING, *OTHERS])
def test_help_has_an_example_and_a_wrong_flag_ends_with_2(command: str) -> None:
    shown = toolfold(*command.split(), "--help")
    assert shown.returncode == 0
    assert f"Example: toolfold {command}" in shown.stdout.decode()
    ended = toolfold(*command.split(), "--no-such-flag")
    assert ended.returncode == 2
    assert b"--no-such-flag" in ended.stderr
    assert ended.stdout == b""


def test_every_command_is_in_these_tables() -> None:
    shown = toolfold("--help").stdout.decode()
    listed = re.findall(r"^│ ([a-z-]+) ", shown.partition("Commands")[2], re.MULTILINE)
    assert set(listed) == {command.split()[0] for command in (*PRINTING, *OTHERS)}


def test_help_says_what_the_exit_codes_are() -> None:
    shown = " ".join(toolfold("--help").stdout.decode().split())
    assert "0 if it worked, 1 if something should be looked at, 2 if what was asked for" in shown


def test_no_command_shows_the_help_and_an_unknown_one_ends_with_2() -> None:
    assert b"Usage: toolfold" in toolfold().stdout + toolfold().stderr
    assert toolfold("sevre").returncode == 2


def test_a_reader_that_leaves_early_gets_no_traceback() -> None:
    command = f"{sys.executable} -m app search - weather --json | exec /bin/true"
    ended = subprocess.run(
        ["/bin/sh", "-c", command], input=REQUEST, capture_output=True, env=CLEAN, check=False
    )
    assert b"Traceback" not in ended.stderr


def test_the_version_is_printed() -> None:
    assert toolfold("version").stdout.decode() == f"{__version__}\n"
    assert json.loads(toolfold("version", "--json").stdout)["version"] == __version__


def test_check_config_says_all_that_is_wrong() -> None:
    wrong: dict[str, Any] = {"TOOLFOLD_PORT": "x", "TOOLFOLD_MODE": "sometimes"}
    ended = toolfold("check-config", **wrong)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert b"toolfold: --port or TOOLFOLD_PORT: " in ended.stderr
    assert b"toolfold: --mode or TOOLFOLD_MODE: " in ended.stderr
    ended = toolfold("check-config", "--json", **wrong)
    said = json.loads(ended.stdout)
    assert (ended.returncode, said["valid"], len(said["problems"])) == (2, False, 2)


OPEN: dict[str, Any] = {"TOOLFOLD_HOST": "0.0.0.0"}
POLICIES: dict[str, tuple[dict[str, Any], str]] = {
    "nobody has to have a key": (OPEN, "anybody who reaches 0.0.0.0"),
    "no such file": ({"TOOLFOLD_POLICY_FILE": "/nowhere.yaml"}, "/nowhere.yaml:1: "),
    "a policy file that is none": ({"TOOLFOLD_POLICY_FILE": __file__}, f"{__file__}:1: "),
}


@pytest.mark.parametrize(("env", "says"), POLICIES.values(), ids=POLICIES)
def test_check_config_says_what_serve_would_not_start_with(env: dict[str, Any], says: str) -> None:
    for command in ("check-config", "serve"):
        ended = toolfold(command, **env)
        assert ended.returncode == 2
        assert f"toolfold: {says}" in ended.stderr.decode()


def test_check_config_takes_a_policy_file_that_is_good() -> None:
    assert toolfold("check-config", **OPEN, TOOLFOLD_POLICY_FILE=EXAMPLE).returncode == 0


def test_check_config_says_which_variables_are_no_settings() -> None:
    ended = toolfold("check-config", "--json", TOOLFOLD_MAX_SERCHES="3", toolfold_xyz="")
    said = json.loads(ended.stdout)
    assert (ended.returncode, said["valid"]) == (1, True)
    assert said["unknown"] == [
        "TOOLFOLD_MAX_SERCHES is no setting: TOOLFOLD_MAX_SEARCHES?",
        "toolfold_xyz is no setting",
    ]


def test_check_config_shows_what_is_set_but_no_password() -> None:
    secrets: dict[str, Any] = {
        "TOOLFOLD_RANKER_KEY": "sk-1",
        "TOOLFOLD_REDIS_URL": "redis://:sk-2@redis:6379/0",
    }
    arguments = ("check-config", "--direct", "a,b")
    said = json.loads(toolfold(*arguments, "--json", **secrets).stdout)
    assert said["settings"]["direct"] == ["a", "b"]
    assert said["settings"].keys() == {"direct", "ranker_key", "redis_url"}
    shown = toolfold(*arguments, **secrets).stdout.decode()
    assert "TOOLFOLD_DIRECT" in shown
    assert "sk-" not in shown + json.dumps(said)


def test_shells_complete_commands(tmp_path: Path) -> None:
    said: dict[str, Any] = {"COMP_WORDS": "toolfold check", "COMP_CWORD": "1"}
    completed = toolfold(_TOOLFOLD_COMPLETE="complete_bash", **said)
    assert completed.stdout.decode().split() == ["check-config"]
    subprocess.run(
        ["/bin/bash", "-c", f"{sys.executable} -m app --install-completion; true"],
        env=CLEAN | {"HOME": str(tmp_path)},
        capture_output=True,
        check=True,
    )
    assert "_TOOLFOLD_COMPLETE" in (tmp_path / ".bash_completions" / "toolfold.sh").read_text()
