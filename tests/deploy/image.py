"""The image, really built and run where there is neither a Docker engine nor a registry.

The two images that it is made from are stood in for by Debian's own packages, put together as
theirs are: a minimal Debian, and the files of `python3` and what it needs with no script run, which
is what distroless is. The container is a chroot with a root that cannot be written to. That shows
files, user, probes and signals; it says nothing of seccomp or cgroups.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from tests.deploy.manifests import ROOT

IMAGE = "localhost/toolfold-test"
_STANDS_FOR = {
    "BUILD_IMAGE": ("localhost/toolfold-test-debian", "minbase", "ca-certificates"),
    "BASE_IMAGE": ("localhost/toolfold-test-python", "extract", "base-files,libstdc++6,python3"),
}
"""By the build's argument: the tag, mmdebstrap's variant, and the packages."""
_HOST = ("/etc/ssl/certs", "/etc/pip.conf")
"""What a build that goes through a site's proxy needs of its host."""
_READ_ONLY = """
root=$1 user=$2; shift 2
mount --rbind "$root" "$root" && mount -o remount,bind,ro "$root" &&
exec chroot --groups= --userspec="$user" "$root" "$@"
"""


def build(folder: Path) -> None:
    """Make IMAGE. Skips the test where that cannot be done."""
    for tool in ("buildah", "mmdebstrap"):
        if which(tool) is None:
            pytest.skip(f"{tool} is not installed: apt-get install buildah mmdebstrap")
    if os.geteuid() != 0:
        pytest.skip("only root can build and run an image here")
    arguments = []
    for name, (tag, variant, packages) in _STANDS_FOR.items():
        if not _buildah("images", "--quiet", "--filter", f"reference={tag}"):
            _stand_in(folder, tag, variant, packages)
        arguments += ["--build-arg", f"{name}={tag}"]
    mounts = [f"--volume={path}:{path}:ro" for path in _HOST if Path(path).exists()]
    options = ["--isolation", "chroot", "--format", "docker", "--layers", "--tag", IMAGE]
    _buildah("bud", *options, *arguments, *mounts, str(ROOT))


def _stand_in(folder: Path, tag: str, variant: str, packages: str) -> None:
    archive = folder / "base.tar"
    command = ["mmdebstrap", f"--variant={variant}", f"--include={packages}", "bookworm"]
    _run(*command, str(archive))
    lines = ["FROM scratch", "ADD base.tar /", "ENV PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
    (folder / "Dockerfile").write_text("\n".join(lines))
    _buildah("bud", "--isolation", "chroot", "--tag", tag, str(folder))
    archive.unlink()


def config() -> dict[str, Any]:
    """What the image says of itself."""
    found: dict[str, Any] = json.loads(_buildah("inspect", "--type", "image", IMAGE))["Docker"]
    return found["config"]  # type: ignore[no-any-return]


@contextmanager
def mounted() -> Iterator[Path]:
    """The root of a container of the image."""
    container = _buildah("from", "--pull-never", IMAGE)
    try:
        yield Path(_buildah("mount", container))
    finally:
        _buildah("rm", container)


@contextmanager
def running(root: Path, command: list[str], **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command as the image would run it, with nothing of this machine but its network; killed
    at the end if it has not ended by then."""
    said = config()
    chroot = ["unshare", "--mount", "sh", "-c", _READ_ONLY, "sh"]
    known = dict(variable.split("=", 1) for variable in said["Env"])
    command = [*chroot, str(root), said["User"], *command]
    with subprocess.Popen(command, env=known | env, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def _buildah(*arguments: str) -> str:
    return _run("buildah", *arguments).strip()


def _run(*command: str) -> str:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{command}: {ended.stdout[-2000:]}{ended.stderr[-2000:]}"
    return ended.stdout
