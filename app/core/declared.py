"""Which of the deferred tools are declared, and how: the part of `tools` behind the bridge."""

from collections.abc import Container, Iterable, Sequence

from app.core.policy import MOST_HITS
from app.core.terms import Terms
from app.core.tools import Tool, marked


def fitted(names: Iterable[str], kept: frozenset[str], room: int) -> list[str]:
    """As many of the promoted tools as the upstream takes, in order: the oldest that have
    only been found go first, and only then the oldest of the others."""
    names = list(names)
    spare = [name for name in names if name not in kept] + [n for n in names if n in kept]
    dropped = set(spare[: max(len(names) - room, 0)])
    return [name for name in names if name not in dropped]


def demanded(terms: Terms) -> tuple[Sequence[str], Sequence[str]]:
    """The tools that the client's `tool_choice` needs to be declared: what comes first, and
    what comes last.

    Frameworks that require a call put their output tool last, under any name. It comes
    first here, since the history behind it grows from request to request.
    """
    choice, shape = terms.choice, terms.shape
    last: Sequence[str] = ()
    if choice.required and choice.kind != "named":
        visible = (name for name, exposure in shape.names.items() if exposure != "hidden")
        last = [n for n in visible if choice.kind != "allowed" or n in choice.names][-1:]
    few = choice.kind == "named" or (len(choice.names) <= MOST_HITS and not terms.wraps)
    return last, choice.names if few else ()


def declarations(promoted: Sequence[str], terms: Terms, referred: Container[str]) -> list[bytes]:
    """The declarations of the promoted tools. Where the upstream defers, all that can be found
    stands behind them: marked, and so unseen. `referred`: tools that a result loads."""
    deferred = terms.shape.deferred
    if not terms.marks:
        return [deferred[name].raw for name in promoted]
    loaded = [name for name in promoted if name not in referred]
    rest = (tool for name, tool in deferred.items() if name not in loaded)
    unseen = (marked(tool) for tool in rest if _may_be_marked(tool, terms))
    return [*(deferred[name].raw for name in loaded), *unseen]


def _may_be_marked(tool: Tool, terms: Terms) -> bool:
    return terms.declarable(tool.name) and terms.admits(tool.name) is not None
