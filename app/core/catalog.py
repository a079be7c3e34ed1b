"""All tools of one request. Compiled once for each content of `tools`, then shared."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice

import msgspec

from app.core import tools
from app.core.body import Malformed
from app.core.codec import decode
from app.core.errors import BadRequest
from app.core.ranking.lexical import Index, key
from app.core.tools import Tool

Count = Callable[[str], int]
"""Tokens of a text."""
Admits = Callable[[str], bool]
"""Whether the tool of this name may be known to who asks."""

_SEPARATOR = re.compile(r"__|\.")
_SHARED_PREFIX = re.compile(r"([A-Za-z0-9]+)[_-](?=.)")
_SHARED_BY = 3
_INVENTED_PREFIX = re.compile(r"[./:]")
"""`functions.get_weather`, `tools/get_weather`: models make these up."""
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
    fault: BadRequest | None = None
    """Why no upstream would take these tools; then nothing else is filled in."""
    count: int = 0
    """Entries of the array, also where there is a fault."""
    index: Index = field(default_factory=lambda: Index(()))
    by_name: dict[str, int] = field(default_factory=dict)
    _meanings: dict[str, list[int]] = field(default_factory=dict)

    def meant(self, name: str, admits: Admits) -> Tool | None:
        """The one tool that a wrong name can only mean: other case or separators, the family's
        prefix left out, or a prefix invented."""
        for attempt in (name, _INVENTED_PREFIX.split(name)[-1]):
            found = [
                tool
                for position in self._meanings.get(key(attempt), ())
                if admits((tool := self.tools[position]).name)
            ]
            if len(found) == 1:
                return found[0]
        return None

    def close(self, name: str, admits: Admits, most: int = 3) -> list[str]:
        """The admitted names most like this one."""
        ranked = (self.tools[position].name for position, _ in self.index.rank(name))
        return list(islice(filter(admits, ranked), most))


def compile_catalog(raw: bytes, count: Count) -> Catalog:
    """Everything that holds for a `tools` array whatever the policy. Slow: tens of
    milliseconds for hundreds of tools. Raises Malformed: it is not a list."""
    try:
        entries = [bytes(entry) for entry in _entries.decode(raw)]
    except (msgspec.DecodeError, RecursionError):
        raise Malformed("tools-malformed") from None
    fingerprint = sha256(raw).hexdigest()
    try:
        found = tuple(tool for at, entry in enumerate(entries) for tool in tools.read(entry, at))
        by_name = _unique(found)
    except BadRequest as fault:
        return Catalog(len(raw), fingerprint, fault=fault, count=len(entries))
    families = _families(found)
    return Catalog(
        size_in_bytes=len(raw),
        fingerprint=fingerprint,
        tools=found,
        families=families,
        tokens=tuple(count(tool.raw.decode()) for tool in found),
        count=len(found),
        index=Index(found),
        by_name=by_name,
        _meanings=_meanings(found, families),
    )


def is_empty(raw: bytes | None) -> bool:
    """Whether a `tools` member declares nothing."""
    return raw is None or (len(raw) < 16 and not decode(raw))


def _unique(found: Iterable[Tool]) -> dict[str, int]:
    by_name: dict[str, int] = {}
    for position, tool in enumerate(found):
        if tool.name and by_name.setdefault(tool.name, position) != position:
            where = f"tools[{position}].{tool.type}.name"
            raise BadRequest(
                f"Tool names must be unique: `{where}` declares `{tool.name[:64]}` again. "
                "Rename one of the two or leave it out.",
                where,
            )
    return by_name


def _families(found: tuple[Tool, ...]) -> tuple[Family | None, ...]:
    names = [tool.name for tool in found]
    shared = Counter(match[1] for name in names if (match := _SHARED_PREFIX.match(name)))
    given = (Family(tool.namespace, "") if tool.namespace else None for tool in found)
    return tuple(family or _family(name, shared) for family, name in zip(given, names, strict=True))


def _family(name: str, shared: Counter[str]) -> Family | None:
    rest = name.removeprefix("mcp__")
    if (separator := _SEPARATOR.search(rest, 1)) and separator.end() < len(rest):
        start = len(name) - len(rest)
        return Family(rest[: separator.start()], name[: start + separator.end()])
    match = _SHARED_PREFIX.match(name)
    if match and shared[match[1]] >= _SHARED_BY:
        return Family(match[1], match[0])
    return None


def _meanings(found: tuple[Tool, ...], families: tuple[Family | None, ...]) -> dict[str, list[int]]:
    meanings: dict[str, list[int]] = defaultdict(list)
    for position, (tool, family) in enumerate(zip(found, families, strict=True)):
        meanings[key(tool.name)].append(position)
        if family is not None and family.prefix:
            meanings[key(tool.name.removeprefix(family.prefix))].append(position)
    return dict(meanings)
