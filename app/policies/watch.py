"""The policy file of a running server: read anew when it changes, all of it or none."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import structlog

from app.policies import Policies
from app.policies.document import Invalid, Problem

_EVERY = 2.0
"""Seconds between two looks at the file."""

Read = Callable[[bytes], Policies]
"""Raises Invalid."""
_log = structlog.get_logger()


class _Stamp(NamedTuple):
    """What differs when a file has changed, be it that a link to it was turned round, as
    Kubernetes does with a ConfigMap."""

    device: int
    inode: int
    size: int
    changed: int


class PolicyFile:
    """A file and what was last made of it."""

    def __init__(
        self,
        path: str,
        read: Read,
        apply: Callable[[Policies], None],
        every: float = _EVERY,
        tell: Callable[[bool], None] = lambda _: None,
    ) -> None:
        """`tell`: whether it could be read anew, each time that it was."""
        self._path = Path(path)
        self._read = read
        self._apply = apply
        self._every = every
        self._tell = tell
        self._stamp: _Stamp | None = None
        self._asked = asyncio.Event()

    def load(self) -> None:
        """Read and apply it. Raises Invalid, and then nothing has changed."""
        self._stamp = self._stamped()
        try:
            raw = self._path.read_bytes()
        except OSError as error:
            raise Invalid([Problem(1, "", f"cannot be read: {error.strerror}")]) from None
        self._apply(self._read(raw))

    def reload(self) -> None:
        """Read it anew; what is wrong with it is logged, and the old one stays."""
        try:
            self.load()
        except Invalid as invalid:
            self._tell(False)
            problems = [problem.text(str(self._path)) for problem in invalid.problems]
            _log.error("policy_file_refused", problems=problems)
        else:
            self._tell(True)
            _log.info("policy_file_loaded", path=str(self._path))

    def look(self) -> None:
        """Read it anew where it has changed since, good or bad."""
        if self._stamped() != self._stamp:
            self.reload()

    def ask(self) -> None:
        """Have it read anew, changed or not."""
        self._asked.set()

    async def watch(self) -> None:
        """Look now and then, for ever; in a thread, since a large file takes its time."""
        while True:
            try:
                await asyncio.wait_for(self._asked.wait(), self._every)
            except TimeoutError:
                await asyncio.to_thread(self.look)
            else:
                self._asked.clear()
                await asyncio.to_thread(self.reload)

    def _stamped(self) -> _Stamp | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return _Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
