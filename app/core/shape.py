"""A catalog as a policy shows it: what is declared, what is listed, what is gone.

Compiled once for a catalog and the policy fields that matter here, then looked up.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from app.core import wording, wrap
from app.core.catalog import Catalog, Count
from app.core.codec import encode
from app.core.selfsearch import is_search
from app.core.manifest import Listed, Manifest, grouped, manifest, signature
from app.core.policy import MOST_HITS, Exposure, Policy, Ruling
from app.core.tools import Tool
from app.core.wrap import WRAPPER_NAME

BRIDGE_NAME = "tool_search"
_LONGEST_DESCRIPTION = 1_024
"""OpenAI and Azure have refused longer function descriptions with a 400."""
_MOST_FAMILIES = 40


@dataclass(frozen=True, eq=False)
class Shape:
    """What a policy makes of a catalog."""

    catalog: Catalog
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
    """The families in one line, for a model that has to be told how to search."""
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
    """The policy hides a tool that has a name."""
    offered: int
    """Tokens of the client's tools."""
    deferrable: int
    """Tokens of the deferred tools."""
    sent: int
    """Tokens of the direct tools and the bridge."""

    def tokens(self, tool: Tool) -> int:
        """Tokens of one named tool's declaration."""
        return self.catalog.tokens[self.catalog.by_name[tool.name]]

    def bridge_as(self, name: str, wrapper: str, *, listing: str) -> bytes:
        """The bridge's declaration under other names, or with another listing; "" where that
        stands in the system message."""
        same = (name, wrapper, listing) == (self.bridge_name, self.wrapper_name, self.manifest.text)
        if same:
            return self.bridge
        return _declaration(name, len(self.deferred), listing, self.limit, wrapper)

    def wrapper_as(self, bridge: str, name: str) -> bytes:
        """The wrapper's declaration under other names; empty where there is none."""
        if not name or (bridge, name) == (self.bridge_name, self.wrapper_name):
            return self.wrapper
        return wrap.declaration(name, bridge)


def compile_shape(catalog: Catalog, policy: Policy, count: Count) -> Shape:
    """Rule on every tool, write the manifest, weigh the result."""
    rulings = tuple(_rule(policy, catalog, at, count) for at in range(len(catalog.tools)))
    ruled = list(zip(catalog.tools, rulings, strict=True))
    deferred = [tool for tool, ruling in ruled if ruling.exposure == "deferred"]
    listed = [Listed(tool, catalog.families[catalog.by_name[tool.name]]) for tool in deferred]
    text = manifest(listed, policy.manifest_tokens, count)
    name = free_name(catalog.by_name)
    wraps = policy.strategy == "wrap" and bool(deferred)
    wrapper_name = free_name(catalog.by_name, WRAPPER_NAME) if wraps else ""
    wrapper = wrap.declaration(wrapper_name, name) if wraps else b""
    bridge = _declaration(name, len(deferred), text.text, policy.limit, wrapper_name)
    weights = Counter[Exposure]()
    for ruling, tokens in zip(rulings, catalog.tokens, strict=True):
        weights[ruling.exposure] += tokens
    names = {tool.name: ruling.exposure for tool, ruling in ruled if tool.name}
    return Shape(
        catalog=catalog,
        rulings=rulings,
        direct=tuple(sorted(_of(ruled, "direct"), key=lambda tool: tool.name)),
        deferred={tool.name: tool for tool in deferred},
        names=names,
        manifest=text,
        families=_summary(listed),
        limit=policy.limit,
        opted_in=any(tool.mark or tool.is_hosted_search for tool in catalog.tools),
        searches=any(is_search(tool) and names[tool.name] != "hidden" for tool in catalog.tools),
        bridge_name=name,
        bridge=bridge,
        wrapper_name=wrapper_name,
        wrapper=wrapper,
        hides="hidden" in names.values(),
        offered=sum(catalog.tokens),
        deferrable=weights["deferred"],
        sent=weights["direct"] + count(bridge.decode()) + count(wrapper.decode()),
    )


def free_name(taken: Iterable[str], wanted: str = BRIDGE_NAME) -> str:
    """The name of a tool of ours: the client's own tools keep theirs."""
    taken = set(taken)
    ours = f"toolfold_{wanted}"
    numbered = (f"{ours}_{n}" for n in range(2, len(taken) + 3))
    return next(name for name in (wanted, ours, *numbered) if name not in taken)


def _declaration(name: str, count: int, listing: str, limit: int, wrapper: str) -> bytes:
    """The bridge with the listing where it fits; "" says that it stands in the system message."""
    then = wording.THEN_WRAPPED.format(wrapper=wrapper) if wrapper else wording.THEN_DECLARED

    def says(where: str) -> str:
        return wording.BRIDGE.format(count=count, where=where, then=then)

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
    ruling = policy.rule(tool, family.name if family else None)
    if ruling == ("deferred", "default") and count(signature(tool)) >= catalog.tokens[position]:
        return Ruling("direct", "its line in the manifest would cost as much as its schema")
    return ruling


def _summary(listed: list[Listed]) -> str:
    sizes = [(family.name, len(tools)) for family, tools in grouped(listed) if family]
    if not sizes:
        return wording.NO_FAMILIES.format(count=len(listed))
    return ", ".join(f"{name} ({size})" for name, size in sizes[:_MOST_FAMILIES])
