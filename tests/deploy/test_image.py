import asyncio
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from bench.process import free_port
from tests.builders import body, reply
from tests.deploy import image
from tests.deploy.manifests import ROOT
from tests.upstream import upstream

LARGEST_MB = 200


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The root of a container."""
    image.build(tmp_path_factory.mktemp("image"))
    with image.mounted() as path:
        yield path


def test_the_image_says_how_it_is_run(root: Path) -> None:
    said = image.config()
    assert said["User"] == "65532:65532"
    assert (said["Entrypoint"], said["Cmd"]) == (["toolfold"], ["serve"])
    assert said["Healthcheck"]["Test"] == ["CMD", "toolfold", "healthcheck"]


def test_the_image_is_small_and_holds_nothing_to_build_with(root: Path) -> None:
    measured = subprocess.run(
        ["du", "-s", "--apparent-size", "--block-size=MB", root], capture_output=True, check=True
    )
    assert int(measured.stdout.split(b"MB")[0]) < LARGEST_MB
    programs = {path.name for folder in root.rglob("*bin") for path in folder.iterdir()}
    assert {"toolfold", "python3"} <= programs
    assert programs.isdisjoint({"sh", "bash", "dash", "apt", "pip", "pip3", "gcc", "cc", "curl"})
    assert not [*(root / "opt").rglob("pip")]
    assert any((root / "opt/toolfold").rglob("app/__pycache__/cli.*.pyc")), "it cannot be written"


def test_the_user_owns_and_may_write_nothing(root: Path) -> None:
    ours = [path for path in (root / "opt").rglob("*") if not path.is_symlink()]
    assert [path for path in ours if path.stat().st_uid == 65532 or path.stat().st_mode & 2] == []


async def test_it_serves_on_a_read_only_root_and_ends_on_sigterm(root: Path) -> None:
    ports = {"TOOLFOLD_PORT": str(free_port()), "TOOLFOLD_ADMIN_PORT": str(free_port())}
    said = image.config()
    async with upstream(reply("Hello")) as behind, httpx2.AsyncClient(timeout=20) as client:
        env = {"TOOLFOLD_UPSTREAM_BASE_URL": behind.url, "TOOLFOLD_MODE": "on", **ports}
        env["TOOLFOLD_DRAIN_DELAY"] = "0"
        with image.running(root, [*said["Entrypoint"], *said["Cmd"]], **env) as process:
            assert process.stderr is not None
            for _ in ports:
                line = await asyncio.to_thread(process.stderr.readline)
                assert b'"listening"' in line
            assert ids(process) == ["65532", "65532"]
            url = f"http://127.0.0.1:{ports['TOOLFOLD_PORT']}/v1/chat/completions"
            answered = await client.post(url, content=body())
            assert answered.json()["choices"][0]["message"]["content"] == "Hello"
            assert behind.requests[0]["tools"][0]["function"]["name"] == "tool_search"
            alive = await asyncio.to_thread(probed, root, env)
            process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(process.wait) == 0
    assert (alive, probed(root, env)) == (0, 1)


def ids(process: subprocess.Popen[bytes]) -> list[str]:
    """User and group of a running process."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return re.findall(r"^[UG]id:\t(\d+)", status, re.MULTILINE)


def probed(root: Path, env: dict[str, str]) -> int:
    """What the image's own health check says."""
    with image.running(root, image.config()["Healthcheck"]["Test"][1:], **env) as probe:
        return probe.wait()


def test_the_dockerfile_is_clean() -> None:
    hadolint = Path(sys.executable).parent / "hadolint"
    checked = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, check=False)
    assert (checked.returncode, checked.stdout) == (0, b"")


def test_the_image_has_the_extras_that_a_server_can_use() -> None:
    """All but those that are for the demo, the bench, the clients' tests and developers."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [extras] = re.findall(r"^ARG EXTRAS=(.*)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert set(extras.split(",")) == {*declared["optional-dependencies"]} - {
        "demo",
        "dev",
        "frameworks",
        "minilm",
    }
