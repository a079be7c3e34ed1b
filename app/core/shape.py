"""A catalog as a policy shows it: what is declared, what is listed, what is gone.

Compiled once for a catalog and the policy fields that matter here, then looked up.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from app.core import wording, wrap
from app.core.catalog import Catalog, Count, Family
from app.core.codec import encode
from app.core.exposure import BRIDGE_NAME, WRAPPER_NAME, Ruling, is_core, rule
from app.core.manifest import Listed, Manifest, clean, grouped, manifest, signature
from app.core.policy import MOST_HITS, Exposure, Policy
from app.core.schema.budget import budgeted
from app.core.selfsearch import is_search
from app.core.tools import Tool, parse

_LONGEST_DESCRIPTION = 1_024
"""OpenAI and Azure have refused longer function descriptions with a 400."""
_MOST_FAMILIES = 40


@dataclass(frozen=True, eq=False)
class Shape:
    """What a policy makes of a catalog."""

    catalog: Catalog
    tools: tuple[Tool, ...]
    """The catalog's, as they are declared: within the schema budget."""
    weights: tuple[int, ...]
    """Tokens of each declaration."""
    rulings: tuple[Ruling, ...]
    """One for each tool, in the client's order."""
    direct: tuple[Tool, ...]
    """In the order of their declaration: by name."""
    deferred: dict[str, Tool]
    """By name, in the client's order."""
    names: dict[str, Exposure]
    """Every tool that has a name."""
    manifest: Manifest
    families: str
    """The families with their sizes, as a sentence; "" where there are none."""
    limit: int
    """Hits of a query that does not say how many."""
    opted_in: bool
    """The client marked a tool as deferred, or sent a hosted search tool."""
    searches: bool
    """The client has a search for tools of its own."""
    bridge_name: str
    bridge: bytes
    """The bridge's declaration, with the manifest in it."""
    wrapper_name: str
    wrapper: bytes
    """The wrapper's declaration; both are empty with strategy `promote`."""
    hides: bool
    """The policy hides a tool."""
    offered: int
    """Tokens of the client's tools."""
    deferrable: int
    """Tokens of the deferred tools."""
    sent: int
    """Tokens of the direct tools, and of ours where there is something to find."""

    @cached_property
    def size_in_bytes(self) -> int:
        """Of the direct tools' declarations and of ours."""
        ours = len(self.bridge) + len(self.wrapper) if self.deferred else 0
        return sum(len(tool.raw) for tool in self.direct) + ours

    @cached_property
    def core_deferred(self) -> tuple[str, ...]:
        """Tools that should never be deferred and are: a model does not search for these."""
        return tuple(filter(is_core, self.deferred))

    def tokens(self, tool: Tool) -> int:
        """Tokens of one named tool's declaration."""
        return self.weights[self.catalog.by_name[tool.name]]

    @property
    def is_budgeted(self) -> bool:
        """Whether a declaration is not the one that the client sent."""
        return self.tools != self.catalog.tools

    def bridge_as(self, name: str, wrapper: str, *, listing: str) -> bytes:
        """The bridge's declaration under other names, or with another listing; "" where that
        stands in the system message."""
        same = (name, wrapper, listing) == (self.bridge_name, self.wrapper_name, self.manifest.text)
        if same:
            return self.bridge
        return _declaration(name, len(self.deferred), self.families, listing, self.limit, wrapper)

    def wrapper_as(self, bridge: str, name: str) -> bytes:
        """The wrapper's declaration under other names; empty where there is none."""
        if not name or (bridge, name) == (self.bridge_name, self.wrapper_name):
            return self.wrapper
        return wrap.declaration(name, bridge)


class Script(NamedTuple):
    """How tools are written for the model."""

    write: Callable[[Tool], str]
    """One tool."""
    around: str = ""
    """What else has to be said where there are tools."""


DECLARED = Script(lambda tool: tool.raw.decode())
"""In the `tools` of the request."""


def compile_shape(
    catalog: Catalog, policy: Policy, count: Count, script: Script = DECLARED
) -> Shape:
    """Rule on every tool, write the manifest, weigh the result as it is written."""

    def weigh(tool: Tool) -> int:
        return count(script.write(tool))

    rulings = tuple(_rule(policy, catalog, at, count) for at in range(len(catalog.tools)))
    tools = tuple(budgeted(t, policy.schema_budget, policy.schema_profile) for t in catalog.tools)
    as_sent = catalog.tokens if script is DECLARED else tuple(map(weigh, catalog.tools))
    weights = tuple(
        tokens if tool is sent else weigh(tool)
        for tool, sent, tokens in zip(tools, catalog.tools, as_sent, strict=True)
    )
    around = count(script.around)
    ruled = list(zip(tools, rulings, strict=True))
    deferred = [tool for tool, ruling in ruled if ruling.exposure == "deferred"]
    listed = [Listed(tool, _family(tool, catalog)) for tool in deferred]
    positional = policy.dialect == "pformat"
    text = manifest(listed, policy.manifest_tokens, count, positional=positional)
    name = free_name(catalog.by_name)
    wraps = policy.strategy == "wrap" and bool(deferred)
    wrapper_name = free_name(catalog.by_name, WRAPPER_NAME) if wraps else ""
    wrapper = wrap.declaration(wrapper_name, name) if wraps else b""
    families = _families(listed)
    bridge = _declaration(name, len(deferred), families, text.text, policy.limit, wrapper_name)
    ours = sum(weigh(parse(one, 0)) for one in (bridge, wrapper) if one)
    offered, declared = Counter[Exposure](), Counter[Exposure]()
    for ruling, tokens, weight in zip(rulings, as_sent, weights, strict=True):
        offered[ruling.exposure] += tokens
        declared[ruling.exposure] += weight
    names = {tool.name: ruling.exposure for tool, ruling in ruled if tool.name}
    return Shape(
        catalog=catalog,
        tools=tools,
        weights=weights,
        rulings=rulings,
        direct=tuple(sorted(_of(ruled, "direct"), key=lambda tool: tool.name)),
        deferred={tool.name: tool for tool in deferred},
        names=names,
        manifest=text,
        families=families,
        limit=policy.limit,
        opted_in=any(tool.mark or tool.is_hosted_search for tool in catalog.tools),
        searches=any(is_search(tool) and names[tool.name] != "hidden" for tool in catalog.tools),
        bridge_name=name,
        bridge=bridge,
        wrapper_name=wrapper_name,
        wrapper=wrapper,
        hides=any(r.exposure == "hidden" and not t.is_hosted_search for t, r in ruled),
        offered=around + sum(as_sent),
        deferrable=offered["deferred"],
        sent=around + declared["direct"] + (ours if deferred else 0),
    )


def free_name(taken: Iterable[str], wanted: str = BRIDGE_NAME) -> str:
    """The name of a tool of ours: the client's own tools keep theirs."""
    taken = set(taken)
    ours = f"toolfold_{wanted}"
    numbered = (f"{ours}_{n}" for n in range(2, len(taken) + 3))
    return next(name for name in (wanted, ours, *numbered) if name not in taken)


def _declaration(
    name: str, count: int, families: str, listing: str, limit: int, wrapper: str
) -> bytes:
    """The bridge with the listing where it fits; "" says that it stands in the system message."""
    then = wording.THEN_WRAPPED.format(wrapper=wrapper) if wrapper else wording.THEN_DECLARED

    def says(where: str) -> str:
        return wording.BRIDGE.format(count=count, families=families, where=where, then=then)

    description, queries = f"{says(wording.BELOW)}\n\n{listing}", wording.QUERIES
    if not listing:
        description = says(wording.IN_SYSTEM)
    elif len(description) >= _LONGEST_DESCRIPTION:
        description = says(wording.IN_QUERIES)
        queries = f"{queries}\n\n{listing}"
    most = wording.LIMIT.format(default=limit, most=MOST_HITS)
    parameters = {
        "type": "object",
        "properties": {
            "queries": {"type": "array", "items": {"type": "string"}, "description": queries},
            "limit": {"type": "integer", "description": most},
        },
        "required": ["queries"],
    }
    function = {"name": name, "description": description, "parameters": parameters}
    return encode({"type": "function", "function": function})


def _of(ruled: list[tuple[Tool, Ruling]], exposure: Exposure) -> list[Tool]:
    return [tool for tool, ruling in ruled if ruling.exposure == exposure]


def _rule(policy: Policy, catalog: Catalog, position: int, count: Count) -> Ruling:
    tool, family = catalog.tools[position], catalog.families[position]
    ruling = rule(policy, tool, family.name if family else None)
    if ruling == ("deferred", "default") and count(signature(tool)) >= catalog.tokens[position]:
        return Ruling("direct", "its line in the manifest would cost as much as its schema")
    return ruling


def _family(tool: Tool, catalog: Catalog) -> Family | None:
    """What the manifest lists it under: the client's own word comes first."""
    if tool.namespace:
        return Family(tool.namespace, "")
    return catalog.families[catalog.by_name[tool.name]]


def _families(listed: list[Listed]) -> str:
    sizes = [f"{clean(f.name)} ({len(tools)})" for f, tools in grouped(listed) if f]
    more = ["..."] if len(sizes) > _MOST_FAMILIES else []
    named = ", ".join([*sizes[:_MOST_FAMILIES], *more])
    return wording.BELONG.format(families=named) if sizes else ""
