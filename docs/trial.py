"""One page, tried: its blocks in order, on one stage, as a reader would follow them."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import yaml

from bench.process import NotStarted, running
from docs.blocks import Block
from docs.stage import Stage

_BASH = ("bash", "-euo", "pipefail", "-c")
_SECONDS = 240
_MOST_SHOWN = 1_000
"""Characters of an output that are shown from its beginning, and from its end."""
_SERVING = ("toolfold serve", "make run")


class Failed(Exception):
    """A block that is not as the page says."""


@dataclass(frozen=True)
class Outcome:
    """How a block went."""

    block: Block
    result: str
    """`passed`, `failed` or `not run`."""
    detail: str = ""


def attempt(found: list[Block], stage: Stage) -> Iterator[Outcome]:
    """Every block of a page but those that say what is shown, which belong to the one before."""
    shown = {one: after.text for one, after in pairwise(found) if after.is_shown}
    with ExitStack() as stack:
        servers = _Servers(stage, stack)
        for block in found:
            if block.is_shown:
                continue
            if why := block.why_not or _missing(block):
                yield Outcome(block, "not run", why)
                continue
            try:
                printed = _try(block, stage, servers)
                _compare(stage.translated(shown.get(block, "")), printed)
            except Failed as failed:
                yield Outcome(block, "failed", str(failed))
            else:
                yield Outcome(block, "passed")


def _missing(block: Block) -> str:
    lacking = [need for need in block.needs if not (shutil.which(need) or find_spec(need))]
    return f"there is no {' and no '.join(lacking)} here" if lacking else ""


class _Servers:
    """The Toolfolds of a page. Each runs until its page has been read, or until another one
    wants its port."""

    def __init__(self, stage: Stage, stack: ExitStack) -> None:
        self._stage = stage
        self._stack = stack
        self._by_port: dict[int, ExitStack] = {}

    def start(self, text: str) -> None:
        """Raises Failed."""
        port = self._stage.admin_port(text)
        if port in self._by_port:
            self._by_port[port].close()
        own = self._by_port[port] = self._stack.enter_context(ExitStack())
        command = [*_BASH, f"cd '{self._stage.folder}'\n{text}"]
        environ = self._stage.environ()
        try:
            own.enter_context(running(command, port=port, path="/readyz", environ=environ))
        except NotStarted as failure:
            raise Failed(str(failure)) from None


def _try(block: Block, stage: Stage, servers: _Servers) -> str:
    """What the block prints. Raises Failed."""
    text = stage.translated(block.text)
    if block.name:
        (stage.folder / block.name).write_text(text)
    if block.language == "sh" and any(start in text for start in _SERVING):
        servers.start(text)
        return ""
    trials: dict[str, Callable[[str, Stage], str]] = {
        "sh": lambda text, stage: _ran([*_BASH, text], stage),
        "python": lambda text, stage: _ran([sys.executable, "-c", text], stage),
        "json": _read_json,
        "yaml": _read_yaml,
    }
    return trials[block.language](text, stage)


def _ran(command: list[str], stage: Stage, *, content: str | None = None) -> str:
    try:
        ended = subprocess.run(
            command,
            cwd=stage.folder,
            env=stage.environ(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"no end after {_SECONDS} s") from None
    if ended.returncode:
        raise Failed(f"ended with {ended.returncode}:\n{_shortened(ended.stdout)}")
    return ended.stdout


def _read_json(text: str, _: Stage) -> str:
    """One value, or one on each line."""
    try:
        json.loads(text)
    except ValueError:
        try:
            for line in text.splitlines():
                json.loads(line)
        except ValueError as error:
            raise Failed(f"this is not JSON: {error}") from None
    return ""


def _read_yaml(text: str, stage: Stage) -> str:
    """A policy file is checked; other YAML has to be YAML."""
    try:
        documents = list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        raise Failed(f"this is not YAML: {error}") from None
    if not (isinstance(documents[0], dict) and "version" in documents[0]):
        return ""
    path = Path(stage.folder, "checked.yaml")
    path.write_text(text)
    return _ran(["toolfold", "policy", "check", path.name], stage)


def _compare(wanted: str, printed: str) -> None:
    """Every line that is shown, in its order; `...` stands for anything. Raises Failed."""
    rest = printed
    for line in wanted.splitlines():
        for part in filter(None, map(str.strip, line.split("..."))):
            _, found, rest = rest.partition(part)
            if not found:
                said = _shortened(printed)
                raise Failed(f"`{part}` is not in what was printed:\n{said}")


def _shortened(text: str) -> str:
    if len(text) <= 2 * _MOST_SHOWN:
        return text
    return f"{text[:_MOST_SHOWN]}\n[...]\n{text[-_MOST_SHOWN:]}"
