import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from app import __version__
from app.flags import flag
from app.settings import Settings
from bench.process import free_port
from tests.builders import CATALOG, WEATHER, body, call, numbered, reply, tool
from tests.upstream import upstream

CLEAN = {"PYTHONPATH": ":".join(sys.path), "PATH": "", "COLUMNS": "200", "TERM": "dumb"}


def toolfold(*arguments: str, stdin: bytes | None = None, **env: str) -> Any:
    command = [sys.executable, "-m", "app", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, env=CLEAN | env, check=False)


@pytest.fixture
def request_file(tmp_path: Path) -> str:
    path = tmp_path / "request.json"
    path.write_bytes(body([*CATALOG, tool("think")]))
    return str(path)


def test_help_has_examples_and_the_version_is_printed() -> None:
    for command in ("serve", "explain", "search", "doctor", "healthcheck", "demo"):
        shown = toolfold(command, "--help")
        assert shown.returncode == 0
        assert b"Example" in shown.stdout
    assert toolfold("--version").stdout.decode().strip() == __version__


def test_serve_has_a_flag_for_every_setting_but_secrets() -> None:
    shown = toolfold("serve", "--help").stdout.decode()
    for name, field in Settings.model_fields.items():
        is_secret = field.annotation is SecretStr
        assert (f"{flag(name)} " in shown) is not is_secret
        assert (f"[TOOLFOLD_{name.upper()}]" in shown) is not is_secret


def test_explain_as_json(request_file: str) -> None:
    said = json.loads(toolfold("explain", request_file, "--mode", "on", "--json").stdout)
    assert (said["decision"], said["reason"]) == ("folded", "mode-on")
    think = next(one for one in said["tools"] if one["name"] == "think")
    assert think["exposure"] == "direct"
    assert think["rule"].startswith("built-in")
    assert think["tokens"] > 0
    assert said["tokens"]["sent"] < said["tokens"]["offered"]
    assert "- get_weather(city, units?)" in said["manifest"]
    assert said["declared"] == [
        {"name": "think", "why": "direct"},
        {"name": "tool_search", "why": "the search"},
    ]


@pytest.mark.parametrize("budget", ["third_party", "300"])
def test_explain_shows_tokens_with_the_schema_budget_and_without(budget: str) -> None:
    large = tool("large", "Long. " * 400, **{f"argument_{at}": "string" for at in range(20)})
    given = ["explain", "-", "--schema-budget", budget]
    shown = toolfold(*given, "--json", stdin=body([WEATHER, large]))
    weather, much = json.loads(shown.stdout)["tools"]
    assert weather["budgeted"] == weather["tokens"]
    assert much["budgeted"] < much["tokens"]
    table = toolfold(*given, stdin=body([WEATHER, large])).stdout.decode()
    assert "in budget" in table
    assert f"{much['budgeted']:,}" in table
    without = json.loads(toolfold("explain", "-", "--json", stdin=body([WEATHER])).stdout)
    assert "budgeted" not in without["tools"][0]


def test_explain_for_people(request_file: str) -> None:
    shown = toolfold("explain", request_file, TOOLFOLD_MODE="on", TOOLFOLD_HIDDEN="crm__*")
    text = shown.stdout.decode()
    assert "folded: mode-on" in text
    assert "policy: hidden `crm__*`" in text
    assert "get_weather(city, units?)" in text
    assert "\x1b" not in text


def test_explain_of_a_conversation_says_what_is_put_back_and_declared() -> None:
    history = [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "tool_calls": [call("c1", "get_weather", {"city": "Oslo"})]},
        {"role": "tool", "tool_call_id": "c1", "content": "Rain"},
    ]
    raw = body(messages=history)
    promote = json.loads(toolfold("explain", "-", "--json", "--mode", "on", stdin=raw).stdout)
    assert promote["declared"][1:] == [{"name": "get_weather", "why": "the history calls it"}]
    assert promote["messages"] == {"client": 3, "sent": 3, "searches": []}
    arguments = ("explain", "-", "--mode", "on", "--strategy", "wrap")
    wrap = json.loads(toolfold(*arguments, "--json", stdin=raw).stdout)
    assert [one["name"] for one in wrap["declared"]] == ["tool_search", "call_tool"]
    assert wrap["messages"] == {"client": 3, "sent": 5, "searches": [["select:get_weather"]]}
    shown = toolfold(*arguments, stdin=raw).stdout.decode()
    assert "put back: a search for select:get_weather" in shown


RELAYED = {
    "few tokens": (body(CATALOG), "few-tokens", len(CATALOG)),
    "no tools": (b'{"model":"m"}', "no-tools", 0),
}


@pytest.mark.parametrize(("raw", "reason", "tools"), RELAYED.values(), ids=RELAYED)
def test_explain_says_why_a_request_is_relayed(raw: bytes, reason: str, tools: int) -> None:
    said = json.loads(toolfold("explain", "-", "--json", stdin=raw).stdout)
    assert (said["decision"], said["reason"], len(said["tools"])) == ("relayed", reason, tools)
    assert said["manifest"] == ""


def test_search_ranks_with_scores(request_file: str) -> None:
    [first, second] = json.loads(
        toolfold("search", request_file, "weather", "quantum", "--json").stdout
    )
    assert first["tools"][0]["name"] == "get_weather"
    assert first["tools"][0]["score"] > 0
    assert second == {"query": "quantum", "tools": []}
    assert b"quantum: no tool matches" in toolfold("search", request_file, "quantum").stdout


BAD: dict[str, tuple[list[str], str]] = {
    "no such file": (["explain", "/nowhere.json"], "/nowhere.json: No such file"),
    "not JSON": (["explain", "-"], "not JSON"),
    "a setting out of range": (
        ["serve", "--min-saving", "7"],
        "--min-saving or TOOLFOLD_MIN_SAVING",
    ),
    "no URL": (["serve", "--upstream", "x"], "--upstream or TOOLFOLD_UPSTREAM_BASE_URL"),
    "a strategy that there is not": (["serve", "--strategy", "magic"], "--strategy"),
    "nothing to search in": (["search", "-", "q"], "not JSON"),
}


@pytest.mark.parametrize(("arguments", "says"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_said_and_the_code_is_2(arguments: list[str], says: str) -> None:
    ended = toolfold(*arguments, stdin=b"{")
    assert ended.returncode == 2
    assert says in ended.stderr.decode()
    assert b"Traceback" not in ended.stderr


def test_a_request_that_would_get_a_400_is_refused_in_words() -> None:
    twice = [*numbered(129), numbered(1)[0]]
    ended = toolfold("explain", "-", stdin=body(twice))
    assert ended.returncode == 2
    assert "Tool names must be unique" in ended.stderr.decode()


async def test_serve_answers_on_both_ports_and_ends_on_sigterm() -> None:
    port, admin = free_port(), free_port()
    async with upstream(reply("Hello")) as behind, httpx2.AsyncClient() as client:
        command = [sys.executable, "-m", "app", "serve", "--upstream", behind.url]
        command += ["--port", str(port), "--admin-port", str(admin), "--mode", "on"]
        process = await asyncio.create_subprocess_exec(
            *command, env=CLEAN, stderr=asyncio.subprocess.PIPE
        )
        assert process.stderr is not None
        for _ in (port, admin):
            started = json.loads(await asyncio.wait_for(process.stderr.readline(), 20))
            assert started["event"] == "listening"
        for path in ("healthz", "readyz"):
            assert (await client.get(f"http://127.0.0.1:{admin}/{path}")).status_code == 200
        url = f"http://127.0.0.1:{port}/v1/chat/completions"
        answered = await client.post(
            url, content=body(), headers={"authorization": "Bearer sk-secret"}
        )
        assert answered.json()["choices"][0]["message"]["content"] == "Hello"
        process.send_signal(signal.SIGTERM)
        log = (await asyncio.wait_for(process.stderr.read(), 10)).decode()
        assert await process.wait() == 0
    [line] = [one for one in map(json.loads, log.splitlines()) if one["event"] == "request"]
    assert (line["decision"], line["status"]) == ("folded", 200)
    assert "Hello" not in log
    assert "sk-secret" not in log
