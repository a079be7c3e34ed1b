"""A catalog as a policy shows it: what is declared, what is listed, what is gone.

Compiled once for a catalog and the policy fields that matter here, then looked up.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from app.core import wording, wrap
from app.core.catalog import Catalog, Count, Family
from app.core.codec import encode
from app.core.exposure import BRIDGE_NAME, WRAPPER_NAME, Ruling, rule
from app.core.manifest import Listed, Manifest, clean, grouped, manifest, signature
from app.core.policy import MOST_HITS, Exposure, Policy
from app.core.schema.budget import budgeted
from app.core.selfsearch import is_search
from app.core.tools import Tool

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
    """Tokens of the direct tools and the bridge."""

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


def compile_shape(catalog: Catalog, policy: Policy, count: Count) -> Shape:
    """Rule on every tool, write the manifest, weigh the result."""
    rulings = tuple(_rule(policy, catalog, at, count) for at in range(len(catalog.tools)))
    tools, weights = _declared(catalog, policy, count)
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
    offered, declared = Counter[Exposure](), Counter[Exposure]()
    for ruling, tokens, weight in zip(rulings, catalog.tokens, weights, strict=True):
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
        offered=sum(catalog.tokens),
        deferrable=offered["deferred"],
        sent=declared["direct"] + count(bridge.decode()) + count(wrapper.decode()),
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


def _declared(
    catalog: Catalog, policy: Policy, count: Count
) -> tuple[tuple[Tool, ...], tuple[int, ...]]:
    """The tools within the schema budget, and what their declarations weigh."""
    tools = tuple(
        budgeted(tool, policy.schema_budget, policy.schema_profile) for tool in catalog.tools
    )
    weights = (
        tokens if tool is declared else count(declared.raw.decode())
        for tool, declared, tokens in zip(catalog.tools, tools, catalog.tokens, strict=True)
    )
    return tools, tuple(weights)


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
