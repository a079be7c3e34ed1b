"""The fenced blocks of a page, and what is done with each.

A block's language says how it is tried; a second word names the file that it is, or `shows`
what the block before it must print. A comment above a block says that it cannot be tried
here, or what it needs:

    <!-- not run: it needs a cluster -->
    <!-- needs: agents -->            a Python module, or a command
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TRIED = ("sh", "yaml", "python", "json")
"""Languages that there is a trial for."""
READ = ("text", "mermaid", "promql")
"""Languages that are only read; `text shows` is compared."""

_FENCE = re.compile(r"^```(\w*)[ ]*(\S*)$")
_COMMENT = re.compile(r"^<!-- (not run|needs): (.+) -->$")


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: str
    line: int
    language: str
    name: str
    """The file that it is, or `shows`."""
    text: str
    why_not: str = ""
    """Why it is not tried, where it is not."""
    needs: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """Page and line."""
        return f"{self.page}:{self.line}"

    @property
    def is_shown(self) -> bool:
        """Whether this is what the block before it prints."""
        return self.language == "text" and self.name == "shows"


def blocks(page: str, text: str) -> Iterator[Block]:
    """The blocks of a page that are tried, compared or marked. Raises ValueError for one that
    has a language with no trial and no mark, and for one that is not closed."""
    lines = iter(enumerate(text.splitlines(), 1))
    above: tuple[str, str] | None = None
    for number, line in lines:
        if comment := _COMMENT.match(line):
            above = (comment[1], comment[2])
        elif fence := _FENCE.match(line):
            block = _block(page, number, fence[1], fence[2], _until_end(lines, page), above)
            above = None
            if block.language not in (*TRIED, *READ) and not block.why_not:
                raise ValueError(f"{block.where}: `{block.language}` cannot be tried: mark it")
            if block.language not in READ or block.is_shown:
                yield block
        elif line.strip():
            above = None


def pages() -> list[str]:
    """The pages that a reader may meet."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def _block(
    page: str, line: int, language: str, name: str, text: str, above: tuple[str, str] | None
) -> Block:
    match above:
        case ("not run", why):
            return Block(page, line, language, name, text, why_not=why)
        case ("needs", what):
            needs = tuple(word.strip() for word in what.split(","))
            return Block(page, line, language, name, text, needs=needs)
        case _:
            return Block(page, line, language, name, text)


def _until_end(lines: Iterator[tuple[int, str]], page: str) -> str:
    held: list[str] = []
    for _, line in lines:
        if line == "```":
            return "".join(f"{one}\n" for one in held)
        held.append(line)
    raise ValueError(f"{page}: a block is not closed")
