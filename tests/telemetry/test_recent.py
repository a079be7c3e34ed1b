"""What the page is made from: its shape, its sums, its bounds."""

import json
import sys
from typing import Any

import pytest

from app.core.catalog import compile_catalog
from app.core.hits import Ranked
from app.core.policy import Policy
from app.core.search import Searched
from app.core.shape import compile_shape
from app.core.verdict import Discovery
from app.telemetry import Report
from app.telemetry import recent as described
from app.telemetry.recent import Recent
from tests.builders import dumps, numbered, reply, tool
from tests.conftest import start_proxy
from tests.telemetry.conversations import FOUND_AND_CALLED, ask, stats, value


def report(at: float = 0.0, **said: Any) -> Report:
    made = Report("/v1/chat/completions", at=at, status=200)
    for name, what in said.items():
        setattr(made, name, what)
    made.ended = made.began
    return made


def searched(*matched: str, unmatched: tuple[str, ...] = ()) -> Searched:
    return Searched("s1", (*matched, *unmatched), matched, unmatched, Ranked("lexical", ()))


async def test_a_conversation_is_shown() -> None:
    async with start_proxy(*FOUND_AND_CALLED, ranker_mode="compare") as proxy:
        response = await ask(proxy)
        shown = await stats(proxy)
    assert json.loads(json.dumps(shown))["health"] == {
        "in_flight": 0,
        "alarms": dict.fromkeys(("nothing_folded", "core_tools_deferred", "tools_unfolded"), False),
        "state_degraded": False,
        "draining": False,
    }
    [row] = shown["requests"]
    assert row["id"] == response.headers["x-toolfold-request-id"]
    assert (row["model"], row["decision"], row["reason"]) == ("m", "folded", "mode-on")
    assert (row["tools"], row["searches"], row["rounds"], row["status"]) == ((1, 19), 1, 2, 200)
    assert row["called"] == [{"tool": "get_weather", "via": "search", "rank": 1}]
    assert all(row[name] >= 0 for name in ("ms", "plan_ms", "rank_ms", "upstream_ms"))
    totals = shown["totals"]
    assert (totals["requests"], totals["folded"], totals["unmatched"]) == (1, 1, 1)
    assert shown["tenants"] == {"": totals}
    [stretch] = shown["series"]
    assert stretch == {"at": stretch["at"], "seconds": 300, **totals}
    found = shown["searches"]
    assert found["ranks"]["lexical"]["1"] == 1
    assert found["most_found"][0]["tool"] == "get_weather"
    assert found["tools_known"] == 19
    assert found["never_found"]["count"] == 19 - len(found["most_found"])


async def test_a_query_that_found_nothing_is_a_hash_unless_it_may_be_captured() -> None:
    for capture in (False, True):
        async with start_proxy(*FOUND_AND_CALLED, capture=capture) as proxy:
            await ask(proxy)
            [unmatched] = (await stats(proxy))["searches"]["unmatched"]
        assert (unmatched["query"] == "quantum") is capture
        assert unmatched["query"].startswith("#") is not capture
        assert unmatched["count"] == 1


def test_the_same_query_is_one_entry() -> None:
    recent = Recent()
    for at in (1.0, 2.0):
        recent.tell(report(at, answered=[searched(unmatched=("quantum",))]))
    [unmatched] = recent.as_json({})["searches"]["unmatched"]
    assert (unmatched["count"], unmatched["last"]) == (2, 2.0)


def test_time_is_summed_up_in_stretches_of_five_minutes_for_a_day() -> None:
    recent = Recent()
    for at in (0, 299, 300, 86_400):
        recent.tell(report(float(at)))
    said = recent.as_json({}, clock=lambda: 86_400.0)["series"]
    assert [(one["at"], one["requests"]) for one in said] == [(300, 1), (86_400, 1)]
    said = recent.as_json({}, clock=lambda: 86_399.0)["series"]
    assert [(one["at"], one["requests"]) for one in said][:2] == [(0, 2), (300, 1)]


def test_a_request_of_before_a_stretch_that_has_begun_counts_there() -> None:
    recent = Recent()
    for at in (300, 299):
        recent.tell(report(float(at)))
    [stretch] = recent.as_json({}, clock=lambda: 300.0)["series"]
    assert stretch["requests"] == 2


def test_tenants_that_are_not_known_are_one() -> None:
    recent = Recent(["acme", "late"], most_tenants=1)
    for tenant in ("acme", "late", "junk", ""):
        recent.tell(report(tenant=tenant))
    assert {name: t["requests"] for name, t in recent.as_json({})["tenants"].items()} == {
        "acme": 1,
        "other": 2,
        "": 1,
    }


async def test_a_tenant_that_comes_to_be_known_is_told_apart_everywhere() -> None:
    async with start_proxy() as proxy:
        proxy.telemetry.know(["acme"])
        for tenant in ("acme", "junk"):
            made = proxy.telemetry.begin({"path": "/v1/x", "method": "GET", "headers": []})
            made.tenant = tenant
            proxy.telemetry.end(made)
        assert set((await stats(proxy))["tenants"]) == {"acme", "other"}
        for tenant in ("acme", "other"):
            assert await value(proxy, "toolfold_requests_total", tenant=tenant) == 1


def test_errors_are_ours_or_the_upstreams_and_not_the_clients() -> None:
    recent = Recent()
    for status, error in [(200, None), (404, "Refused"), (0, "client_gone")]:
        recent.tell(report(status=status, error=error))
    assert recent.as_json({})["totals"]["errors"] == 0
    for status, error in [(502, "Broken"), (200, "Erred")]:
        recent.tell(report(status=status, error=error))
    assert recent.as_json({})["totals"]["errors"] == 2


def test_what_it_holds_is_bounded() -> None:
    recent = Recent()
    long = "x" * 10_000
    for n in range(20_000):
        query, name = f"{n}{long}", f"tool-{n}-{long}"
        discoveries = [Discovery(name, "search", {f"ranker-{n}": n})] * 40
        recent.tell(
            report(
                float(n * 60),
                path=f"/v1/{n}{long}",
                tenant=query,
                answered=[searched(name, unmatched=(query,))],
                discoveries=discoveries,
                captures=True,
            )
        )
    assert len(json.dumps(recent.as_json({}, clock=lambda: 1_200_000.0))) < 500_000
    assert _size(recent) < 2 * 1024 * 1024


def _size(value: Any, seen: set[int] | None = None) -> int:
    """Bytes of a value and all that it holds."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, type):
        return 0
    seen.add(id(value))
    held: list[Any] = []
    if isinstance(value, dict):
        held = [*value.keys(), *value.values()]
    elif hasattr(value, "__iter__") and not isinstance(value, str | bytes):
        held = list(value)
    held += list(getattr(value, "__dict__", {}).values())
    held += [getattr(value, name) for name in getattr(type(value), "__slots__", ())]
    return sys.getsizeof(value) + sum(_size(one, seen) for one in held)


def test_tools_that_are_only_sent_take_no_room_from_those_that_are_called() -> None:
    recent = Recent()
    recent.tell(
        report(answered=[searched("called")], discoveries=[Discovery("called", "search", {})])
    )
    for n in range(3):
        tools = [tool(f"c{n}_t{at}", "Does a thing with a thing.", x="string") for at in range(900)]
        shape = compile_shape(compile_catalog(dumps(tools), len), Policy(mode="on"), len)
        recent.tell(report(decision="folded", shape=shape))
    found = recent.as_json({})["searches"]
    assert found["tools_known"] == 2_000
    assert found["never_found"]["count"] == 1_999
    assert found["most_found"] == [{"tool": "called", "found": 1, "called": 1, "share": 1.0}]


@pytest.mark.parametrize("part", ["totals", "health", "series", "searches", "requests"])
def test_every_part_is_described(part: str) -> None:
    assert part in (described.__doc__ or "")


async def test_every_member_of_a_row_is_described() -> None:
    async with start_proxy(reply("Hi")) as proxy:
        await ask(proxy, tools=numbered(2))
        shown = await stats(proxy)
    text = described.__doc__ or ""
    rows = [shown, shown["requests"][0], shown["totals"], shown["searches"]]
    assert [name for row in rows for name in row if name not in text] == []
