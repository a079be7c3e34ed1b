"""All tools of one request. Compiled once for each content of `tools`, then shared."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import islice

import msgspec

from app.core import tools
from app.core.body import Malformed
from app.core.codec import decode, is_deeper
from app.core.errors import BadRequest
from app.core.findings import Finding, findings
from app.core.ranking import Ranker
from app.core.ranking.families import prefix
from app.core.ranking.lexical import Index, key
from app.core.tools import Tool

Count = Callable[[str], int]
"""Tokens of a text."""
Admits = Callable[[str], bool]
"""Whether the tool of this name may be known to who asks."""

_SHARED_PREFIX = re.compile(r"([A-Za-z0-9]+)[_-](?=.)")
_SHARED_BY = 3
_INVENTED_PREFIX = re.compile(r"[./:]")
"""`functions.get_weather`, `tools/get_weather`: models make these up."""
_DEEPEST = 62
"""Levels of one tool, so that a body has 64: some servers die of much less than we do."""
_LONGEST_MEANT = 1_000
"""Characters of a wrong name that are looked at."""
_entries = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Family:
    """What a tool belongs to, and how its members' names begin."""

    name: str
    prefix: str
    """As written in the tool's name, separator included: `mcp__github__`."""


@dataclass(frozen=True, eq=False)
class Catalog:
    """The tools of a request in the client's order, with what is known of them."""

    size_in_bytes: int
    """Of the raw `tools` array: what a cache is charged for, times a factor of its own."""
    fingerprint: str
    tools: tuple[Tool, ...] = ()
    families: tuple[Family | None, ...] = ()
    tokens: tuple[int, ...] = ()
    """Of each declaration."""
    findings: tuple[tuple[Finding, ...], ...] = ()
    """What is odd in each description."""
    fault: BadRequest | None = None
    """Why no upstream would take these tools; then nothing else is filled in."""
    count: int = 0
    """Entries of the array, also where there is a fault."""
    index: Index = field(default_factory=lambda: Index(()))
    by_name: dict[str, int] = field(default_factory=dict)
    _meanings: dict[str, list[int]] = field(default_factory=dict)

    @cached_property
    def bm25(self) -> Ranker:
        """The plain ranker, for those who want it or compare with it."""
        from app.core.ranking.bm25 import Bm25  # it brings numpy, 30 MB

        return Bm25(self.tools)

    @cached_property
    def is_ambiguous(self) -> bool:
        """Whether a tool's name is read differently by different parsers."""
        return any(tool.is_ambiguous for tool in self.tools)

    def meant(self, name: str, admits: Admits) -> Tool | None:
        """The one tool that a wrong name can only mean: other case or separators, the family's
        prefix left out, or a prefix invented."""
        return next((found[0] for found in self._meant(name, admits) if len(found) == 1), None)

    def may_mean(self, name: str, admits: Admits) -> bool:
        """Whether a wrong name can mean one of the admitted tools, be it one of several."""
        return any(self._meant(name, admits))

    def _meant(self, name: str, admits: Admits) -> Iterator[list[Tool]]:
        name = name[:_LONGEST_MEANT]
        for attempt in (name, _INVENTED_PREFIX.split(name)[-1]):
            found = (self.tools[position] for position in self._meanings.get(key(attempt), ()))
            yield [tool for tool in found if admits(tool.name)]

    def close(self, name: str, admits: Admits, most: int = 3) -> list[str]:
        """The admitted names most like this one."""
        ranked = (
            self.tools[position].name for position, _ in self.index.rank(name[:_LONGEST_MEANT])
        )
        return list(islice(filter(admits, ranked), most))


def compile_catalog(raw: bytes, count: Count) -> Catalog:
    """Everything that holds for a `tools` array whatever the policy. Slow: tens of
    milliseconds for hundreds of tools. Raises Malformed: it is not a list, or too deep."""
    try:
        entries = [bytes(entry) for entry in _entries.decode(raw)]
    except (msgspec.DecodeError, RecursionError):
        raise Malformed("tools-malformed") from None
    if any(_is_too_deep(entry) for entry in entries):
        raise Malformed("tools-too-deep")
    fingerprint = sha256(raw).hexdigest()
    try:
        found = tuple(tool for at, entry in enumerate(entries) for tool in tools.read(entry, at))
        by_name = _unique(found)
    except BadRequest as fault:
        return Catalog(len(raw), fingerprint, fault=fault, count=len(entries))
    families = _families([tool.name for tool in found])
    return Catalog(
        size_in_bytes=len(raw),
        fingerprint=fingerprint,
        tools=found,
        families=families,
        tokens=tuple(count(tool.raw.decode()) for tool in found),
        findings=tuple(findings(tool.description) for tool in found),
        count=len(found),
        index=Index(found),
        by_name=by_name,
        _meanings=_meanings(found, families),
    )


def _is_too_deep(entry: bytes) -> bool:
    opened = entry.count(b"{") + entry.count(b"[")
    return opened > _DEEPEST and is_deeper(decode(entry), _DEEPEST)


def is_empty(raw: bytes | None) -> bool:
    """Whether a `tools` member declares nothing."""
    return raw is None or (len(raw) < 16 and not decode(raw))


def _unique(found: Iterable[Tool]) -> dict[str, int]:
    by_name: dict[str, int] = {}
    for position, tool in enumerate(found):
        if tool.name and by_name.setdefault(tool.name, position) != position:
            where = f"tools[{position}].{tool.type}.name"
            raise BadRequest(
                f"Tool names must be unique: `{where}` is the name of an earlier tool. "
                "Rename one of the two or leave it out.",
                where,
            )
    return by_name


def _families(names: list[str]) -> tuple[Family | None, ...]:
    shared = Counter(match[1] for name in names if (match := _SHARED_PREFIX.match(name)))
    return tuple(_family(name, shared) for name in names)


def _family(name: str, shared: Counter[str]) -> Family | None:
    if written := prefix(name):
        return Family(*written)
    match = _SHARED_PREFIX.match(name)
    if match and shared[match[1]] >= _SHARED_BY:
        return Family(match[1], match[0])
    return None


def _meanings(found: tuple[Tool, ...], families: tuple[Family | None, ...]) -> dict[str, list[int]]:
    meanings: dict[str, list[int]] = defaultdict(list)
    for position, (tool, family) in enumerate(zip(found, families, strict=True)):
        meanings[key(tool.name)].append(position)
        if family is not None:
            meanings[key(tool.name.removeprefix(family.prefix))].append(position)
    return dict(meanings)
