"""A YAML document as nodes that know their lines, and the problems of one."""

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Any, NamedTuple

import yaml

_LONGEST = 1024 * 1024
"""Bytes. A tenant takes a hundred."""
_DEEPEST = 16
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

NAME = re.compile(r"[a-z0-9._-]{1,64}")
"""What policies and tenants may be called."""


class Problem(NamedTuple):
    """What is wrong where."""

    line: int
    path: str
    """As `tenants.acme.keys_sha256[0]`, "" for the whole."""
    why: str

    def text(self, file: str) -> str:
        """One line, as compilers write it."""
        return ": ".join(part for part in (f"{file}:{self.line}", self.path, self.why) if part)


class Invalid(Exception):
    """A file that is not taken."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = sorted(set(problems))
        super().__init__(*self.problems)


class Member(NamedTuple):
    """A member of a mapping."""

    line: int
    value: yaml.Node


def line_of(node: yaml.Node) -> int:
    """Counted from 1."""
    return _line(node.start_mark)


def compose(raw: bytes) -> yaml.Node:
    """The root of the document. Raises Invalid. Nothing is expanded on the way: aliases, which
    a few lines can make exponential, are not taken."""
    if len(raw) > _LONGEST:
        raise Invalid([Problem(1, "", f"the file is longer than {_LONGEST // 1024} KiB")])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise Invalid([Problem(line, "", "this is not UTF-8: save the file as UTF-8")]) from None
    try:
        _look_through(text)
        root = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        line = _line(error.problem_mark or error.context_mark)
        raise Invalid([Problem(line, "", f"this is not YAML: {error.problem}")]) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise Invalid([Problem(line, "", "there is a control character here")]) from None
    if root is None:
        raise Invalid([Problem(1, "", "the file is empty: begin with `version: 1`")])
    return root


def _line(mark: Any) -> int:
    return mark.line + 1 if mark else 1


def _look_through(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        line = _line(event.start_mark)
        if depth > _DEEPEST:
            raise Invalid([Problem(line, "", f"this is nested more than {_DEEPEST} deep")])
        if isinstance(event, yaml.AliasEvent):
            why = f"aliases such as `*{event.anchor}` are not taken: use `extends`"
            raise Invalid([Problem(line, "", why)])


class Reading:
    """Reads nodes and collects what is wrong with them."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def fault(self, node: yaml.Node, path: str, why: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(line_of(node), path, why))

    def mapping(self, node: yaml.Node, path: str, known: Collection[str] = ()) -> dict[str, Member]:
        """The members, each once and each known; with nothing `known`, each a valid name."""
        if not isinstance(node, yaml.MappingNode):
            holds = f"with {' or '.join(f'`{one}`' for one in known)}" if known else "of names"
            self.fault(node, path, f"must be a mapping {holds}: lines of `key: value`")
            return {}
        members: dict[str, Member] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            where = joined(path, "".join(c for c in name[:64] if c.isprintable()))
            if name in members:
                why = f"is written twice: the first is on line {members[name].line}"
                self.fault(key, where, why)
            elif known and name not in known:
                self.fault(key, where, _unknown(name, known))
            elif not known and not NAME.fullmatch(name):
                why = "is not a name: use up to 64 of a-z, 0-9, `.`, `_` and `-`"
                self.fault(key, where, why)
            else:
                members[name] = Member(line_of(key), value)
        return members

    def texts(self, node: yaml.Node, path: str, wanted: str) -> list[tuple[yaml.Node, str, str]]:
        """The entries of a list of texts: node, path, text."""
        if not isinstance(node, yaml.SequenceNode):
            self.fault(node, path, f"must be {wanted}, in brackets or on lines that begin with -")
            return []
        found = []
        for at, entry in enumerate(node.value):
            here = f"{path}[{at}]"
            if (text := text_of(entry)) is None:
                self.fault(entry, here, "must be a text")
            else:
                found.append((entry, here, text))
        return found


def joined(path: str, name: str) -> str:
    """The path of a member."""
    return f"{path}.{name}" if path else name


def text_of(node: yaml.Node) -> str | None:
    """A scalar as it is written: YAML takes `off` for a truth value and digits for a number."""
    if not isinstance(node, yaml.ScalarNode) or node.tag.endswith(":null"):
        return None
    return str(node.value)


def _unknown(name: str, known: Collection[str]) -> str:
    near = get_close_matches(name.replace("-", "_").lower(), known, 1)
    if near:
        return f"there is no such key: did you mean `{near[0]}`?"
    return f"there is no such key: there are {', '.join(known)}"
