"""`toolfold doctor` and `toolfold healthcheck`: what they find, and the codes they end with."""

import asyncio
import json
import sys

import pytest

from bench.process import free_port
from tests.builders import reply
from tests.test_cli import CLEAN
from tests.upstream import Raw, Scripted, upstream

MODELS = Raw(b'{"data":[]}', 200, "application/json")


async def toolfold(*arguments: str, **env: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "app", *arguments),
        env=CLEAN | env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, said = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode is not None
    return process.returncode, out.decode(), said.decode()


EXAMINED: dict[str, tuple[list[Scripted], list[str], int, dict[str, str]]] = {
    "all is well": ([MODELS], [], 0, {"upstream": "ok", "store": "ok", "vocabulary": "ok"}),
    "a key is wanted": ([401], [], 0, {"upstream": "ok"}),
    "no models": ([404], [], 1, {"upstream": "warn"}),
    "the upstream is ill": ([503], [], 1, {"upstream": "warn"}),
    "a call": ([MODELS, reply("x")], ["--call", "m"], 0, {"upstream": "ok", "call": "ok"}),
    "a call that is refused": ([MODELS, 429], ["--call", "m"], 2, {"call": "fail"}),
    "no redis": (
        [MODELS],
        ["--store", "redis", "--redis-url", "redis://127.0.0.1:9/0"],
        1,
        {"store": "warn"},
    ),
}


@pytest.mark.parametrize(
    ("script", "arguments", "code", "results"), EXAMINED.values(), ids=EXAMINED
)
async def test_doctor_says_how_it_is(
    script: list[Scripted], arguments: list[str], code: int, results: dict[str, str]
) -> None:
    async with upstream(*script) as behind:
        ended = await toolfold(
            *("doctor", "--json", "--upstream", behind.url, *arguments), OPENAI_API_KEY="sk-secret"
        )

    found = {one["check"]: one["result"] for one in json.loads(ended[1])}
    assert ended[0] == code
    assert found.items() >= results.items()
    assert ("call" in found) == ("--call" in arguments)
    assert "sk-secret" not in ended[1] + ended[2]
    assert behind.received[0].header("authorization") == ["Bearer sk-secret"]


async def test_doctor_says_that_the_upstream_is_not_there() -> None:
    base = f"http://127.0.0.1:{free_port()}/v1"
    code, out, _ = await toolfold("doctor", "--upstream", base, NO_COLOR="1")

    assert code == 2
    assert "fail upstream: upstream_unreachable" in out
    assert "\x1b" not in out


async def test_a_healthcheck_of_nothing_says_no() -> None:
    code, *_ = await toolfold("healthcheck", "--admin-port", str(free_port()))

    assert code == 1


async def test_a_port_that_is_taken_is_said_in_one_line() -> None:
    async with upstream(200) as taken:
        port = taken.url.rpartition(":")[2].removesuffix("/v1")
        code, _, said = await toolfold("serve", "--port", port, "--admin-port", "0")

    assert code == 2
    assert f"cannot listen: 127.0.0.1:{port}: " in said
    assert "Traceback" not in said
