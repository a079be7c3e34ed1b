"""For any catalog, policy and words of a model: no byte that Toolfold sends either way names a
hidden tool."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.catalog import compile_catalog
from app.core.codec import Json
from app.core.exposure import rule
from app.core.policy import Policy
from tests.builders import call, dumps, reply, search, tool
from tests.core.test_fold import allowed
from tests.player import buffered, in_pieces, play
from tests.scripts import wrapped
from tests.test_hidden import sent, told

IDS = [f"{letter}{letter.upper()}9" for letter in "bcdfghjkmnpqrstvwxz"]
"""No name is a part of another, and none is a word that we use."""
PREFIXES = ["ops__", "ops__", "ops__", "ask_", "mcp__hub__", "", "hub.", "one_", "tool_search_"]
NAMES = st.lists(st.sampled_from(IDS), min_size=1, max_size=12, unique=True).flatmap(
    lambda ids: st.tuples(*(st.sampled_from([p + one for p in PREFIXES]) for one in ids))
)
PATTERNS = st.lists(
    st.sampled_from(
        [
            "ops__*",
            "family:ops",
            "family:hub",
            "*B9",
            "*c*",
            "ask_*",
            "*",
            "hub.*",
            "tool_*",
            "one_*",
        ]
    ),
    max_size=3,
).map(tuple)
EXPOSURES = st.sampled_from(["deferred", "direct", "hidden"])
POLICIES = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(["on", "auto", "off"]),
        "strategy": st.sampled_from(["promote", "wrap"]),
        "default_exposure": EXPOSURES,
        "direct": PATTERNS,
        "deferred": PATTERNS,
        "hidden": PATTERNS,
        "admit_bridge": st.booleans(),
        "manifest_tokens": st.sampled_from([0, 60, 4_000]),
        "manifest_place": st.sampled_from(["auto", "system"]),
        "limit": st.sampled_from([1, 20]),
    }
)
STEPS = st.lists(
    st.sampled_from(["search", "words", "shown", "nonsense", "alias", "wrapped", "unread"]),
    max_size=4,
)


def step(kind: str, at: int, visible: list[str]) -> Json:
    """What a model that knows only what it has been shown may say."""
    one = visible[at % len(visible)] if visible else "nothing"
    match kind:
        case "search":
            return reply(search(f"s{at}", "does it", "ops hub one ask"))
        case "shown":
            return reply(call(f"c{at}", one, {}))
        case "alias":
            return reply(call(f"c{at}", f"functions.{one.upper()}", {"x": 1}))
        case "wrapped":
            return reply(wrapped(f"c{at}", one, {}))
        case "unread":
            return reply(call(f"c{at}", "tool_search", "{"))
        case "nonsense":
            return reply(call(f"c{at}", "ops__does_not_exist", {}))
    return reply("Well.")


@settings(max_examples=150)
@given(
    names=NAMES,
    policy=POLICIES,
    steps=STEPS,
    streamed=st.booleans(),
    choice=st.sampled_from(["auto", "required", "none", "allowed", None]),
    marked=st.booleans(),
)
def test_no_byte_names_a_hidden_tool(
    names: tuple[str, ...],
    policy: dict[str, Any],
    steps: list[str],
    streamed: bool,
    choice: str | None,
    marked: bool,
) -> None:
    tools = [tool(name, "Does it.", key="string") for name in names]
    if marked:
        tools[-1]["defer_loading"] = True
    catalog = compile_catalog(dumps(tools), len)
    chosen = Policy(**policy)
    hidden = [
        one.name
        for one, family in zip(catalog.tools, catalog.families, strict=True)
        if rule(chosen, one, family.name if family else None).exposure == "hidden"
    ]
    if not hidden:
        return
    visible = [name for name in names if name not in hidden]
    asked: Any = allowed(*names) if choice == "allowed" else choice
    members: dict[str, Any] = {} if asked is None else {"tool_choice": asked}
    script = [*(step(kind, at, visible) for at, kind in enumerate(steps)), reply("Done.")]
    played = play(
        *script,
        framing=in_pieces(2) if streamed else buffered,
        tools=tools,
        policy=policy,
        records={},
        messages=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Go."}],
        **members,
    )
    for name in hidden:
        assert name not in sent(played)
        assert name not in told(played)
