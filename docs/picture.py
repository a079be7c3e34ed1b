"""The picture of before and after, drawn from a request that is really folded."""

import json
from collections.abc import Callable

from app.core.fold import Fold
from app.core.policy import Policy
from app.demo.cache import Prompt
from app.explain import explain
from app.tokens import load_counter
from docs.stage import example_request

_TOOLS = 300
_COLUMNS, _STEP, _CELL = 25, 12, 9
_FULL = 376
"""Width of the bar that stands for all tokens."""

_PAGE = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 320" role="img" \
aria-labelledby="title" font-family="ui-sans-serif, system-ui, sans-serif">
<title id="title">{title}</title>
<style>
  .card {{ fill: #f6f8fa; stroke: #d0d7de }} .ink {{ fill: #1f2328 }} .soft {{ fill: #59636e }}
  .many {{ fill: #cf5f3c }} .few {{ fill: #1a7f5a }} .line {{ fill: #b6bfc8 }}
  .arrow {{ stroke: #59636e; fill: none; stroke-width: 2 }}
  @media (prefers-color-scheme: dark) {{
    .card {{ fill: #151b23; stroke: #3d444d }} .ink {{ fill: #f0f6fc }} .soft {{ fill: #9198a1 }}
    .many {{ fill: #e0795a }} .few {{ fill: #3fb98a }} .line {{ fill: #4d5660 }}
    .arrow {{ stroke: #9198a1 }}
  }}
</style>
<rect class="card" x="1" y="1" width="408" height="318" rx="10"/>
<rect class="card" x="451" y="1" width="408" height="318" rx="10"/>
<path class="arrow" d="M417 160h24m-8 -7 8 7 -8 7"/>
<g font-size="17" font-weight="600"><text class="ink" x="17" y="32">Before: every tool, every time\
</text><text class="ink" x="467" y="32">After: a list, and a search</text></g>
<path class="many" d="{before_cells}"/>
<path class="few" d="{after_cells}"/>
<path class="line" d="{lines}"/>
<text class="ink" x="488" y="67" font-family="monospace">{search}</text>
<g font-size="14"><text class="soft" x="17" y="240">{before}</text>
<text class="soft" x="467" y="240">{after}</text></g>
<g font-size="14" font-weight="600"><text class="ink" x="17" y="272">{before_tokens} prompt tokens\
</text><text class="ink" x="467" y="272">{after_tokens} prompt tokens</text></g>
<rect class="many" x="17" y="284" width="{full}" height="14" rx="3"/>
<rect class="few" x="467" y="284" width="{width}" height="14" rx="3"/>
</svg>
"""


def picture() -> str:
    """The demo's first request over its largest catalog, as the app sends it and as the model
    gets it."""
    count = load_counter()
    asked = json.dumps(example_request(_TOOLS), ensure_ascii=False, separators=(",", ":")).encode()
    plan = explain(asked, Policy(), count).plan
    assert isinstance(plan, Fold), plan
    sent = plan.request(plan.promoted, [])
    before, after = _tokens(asked, count), _tokens(sent, count)
    offered, declared = (len(json.loads(body)["tools"]) for body in (asked, sent))
    words = f"{offered} tools, {len(asked) / 1000:,.0f} kB"
    folded = f"{declared} tool and a list of the others, {len(sent) / 1000:,.0f} kB"
    return _PAGE.format(
        title=f"{words}, {before:,} prompt tokens; with Toolfold {folded}, {after:,} prompt tokens",
        search=plan.terms.bridge,
        before=words,
        after=folded,
        before_tokens=f"{before:,}",
        after_tokens=f"{after:,}",
        before_cells=_cells(17, offered),
        after_cells=_cells(467, declared),
        lines=_lines(offered),
        full=_FULL,
        width=max(round(_FULL * after / before), 3),
    )


def _tokens(body: bytes, count: Callable[[str], int]) -> int:
    """As the demo's upstream counts them."""
    asked = json.loads(body)
    tools, messages = (
        json.dumps(asked[member], ensure_ascii=False, separators=(",", ":"))
        for member in ("tools", "messages")
    )
    return Prompt(tools, messages).tokens(count)


def _cells(left: int, count: int) -> str:
    """A square for each tool that is declared."""
    side = _CELL + 4 if count < _COLUMNS else _CELL
    places = ((left + _FULL // _COLUMNS * (at % _COLUMNS), at // _COLUMNS) for at in range(count))
    return "".join(f"M{x} {56 + _STEP * y}h{side}v{side}h-{side}z" for x, y in places)


def _lines(count: int) -> str:
    """A thin line for each tool that is only listed."""
    places = ((467 + 94 * (at % 4), 82 + at // 4) for at in range(0, count, 5))
    return "".join(f"M{x} {82 + 9 * ((y - 82) // 5)}h80v3h-80z" for x, y in places)
