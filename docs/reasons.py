"""Every reason and every error code that the code can say, read from the code itself."""

import ast
import re
from collections.abc import Iterator
from typing import get_args

from app.rankers import Why
from docs.blocks import ROOT

_WORD = re.compile(r"[a-z]+(?:-[a-z]+)+")
_OTHERS = {
    *("content-encoding", "content-length", "content-type", "request-id", "transfer-encoding"),
    *("date-time", "x-gzip", "anthropic-compat"),
}
"""Words with hyphens in the code that are no reasons: names of headers, formats, profiles."""
_ELSEWHERE = {"admin.py", "demo", "page"}
"""What answers no request of an app."""
_CODES = {"BadRequest": 2, "Denied": 2, "Broken": 1, "TurnedAway": 2, "error_body": 3}
"""Who is given the `code` of an error body, and at which place."""
_REFUSALS = ("BadRequest", "Denied")


def reasons() -> set[str]:
    """What `X-Toolfold-Reason` can hold: in the code every word with a hyphen is one, and so is
    the code of a refusal, written with hyphens."""
    found = {
        node.value
        for node in _nodes()
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and _WORD.fullmatch(node.value)
    }
    refused = {code.replace("_", "-") for code in _given(_REFUSALS) | _defaults(_REFUSALS)}
    return (found - _OTHERS - fallbacks()) | refused


def fallbacks() -> set[str]:
    """Why a ranker was not served, as the log says it."""
    return set(get_args(Why))


def codes() -> set[str]:
    """What `code` in an error body of ours can hold."""
    return _given(tuple(_CODES)) | _defaults(tuple(_CODES)) | _returned() | _members()


def _given(takers: tuple[str, ...]) -> set[str]:
    """The codes that these are given."""
    found: set[str] = set()
    for node in _nodes():
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in takers:
                at = _CODES[name]
                values = [one.value for one in node.keywords if one.arg == "code"]
                found |= {word for one in (*values, *node.args[at : at + 1]) for word in _said(one)}
    return found


def _defaults(takers: tuple[str, ...]) -> set[str]:
    """The codes that these have where they are given none."""
    return {
        word
        for node in _nodes()
        if isinstance(node, ast.ClassDef) and node.name in takers
        for member in node.body
        if isinstance(member, ast.AnnAssign)
        and isinstance(member.target, ast.Name)
        and member.target.id == "code"
        and member.value is not None
        for word in _said(member.value)
    }


def _returned() -> set[str]:
    """Codes that are returned behind their message."""
    return {
        word
        for node in _nodes()
        if isinstance(node, ast.Return)
        and isinstance(node.value, ast.Tuple)
        and len(node.value.elts) == 2
        and [*_said(node.value.elts[0])]
        for word in _said(node.value.elts[1])
    }


def _members() -> set[str]:
    """Codes in error bodies that are written out."""
    return {
        word
        for node in _nodes()
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == "code"
        for word in _said(value)
    }


def _said(value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value


def _nodes() -> Iterator[ast.AST]:
    for path in sorted((ROOT / "app").rglob("*.py")):
        if _ELSEWHERE.isdisjoint(path.parts):
            yield from ast.walk(ast.parse(path.read_text()))
