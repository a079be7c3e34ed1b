"""What the tests of the dialects share: tools that may be called, and a reply read."""

from collections.abc import Iterable

from app.core.dialect import jsontag, pformat
from app.core.dialect.said import Said
from app.core.dialect.scanner import Scanner
from app.core.tools import Tool, parse
from tests.builders import dumps, tool

CUSTOM = {"type": "custom", "custom": {"name": "sql", "description": "Runs SQL."}}
TOOLS = [
    tool("get_weather", "Current weather in a city.", city="string", units="string?"),
    tool("math", verbose="boolean?", x="integer", y="number?"),
    tool("shell", command="string"),
    tool("two", a="string", b="string"),
    tool("ping"),
    tool("search", queries="array", limit="integer?"),
    tool("srv.tool-search:v1", q="string"),
    CUSTOM,
]
KNOWN: dict[str, Tool] = {
    (one := parse(dumps(entry), at)).name: one for at, entry in enumerate(TOOLS)
}
SYNTAX = {"json_tag": jsontag, "pformat": pformat}


def read(
    text: str, dialect: str = "json_tag", pieces: Iterable[str] = (), stops: Iterable[str] = ()
) -> tuple[str, list[tuple[str, str]]]:
    """The words and the calls of a text, which may come in pieces."""
    scanner = Scanner(lambda body: SYNTAX[dialect].read(body, KNOWN.get), stops)
    out = [one for piece in list(pieces) or [text] for one in scanner.feed(piece)]
    out += scanner.end()
    words = "".join(one for one in out if isinstance(one, str))
    return words, [(one.name, one.arguments) for one in out if isinstance(one, Said)]
