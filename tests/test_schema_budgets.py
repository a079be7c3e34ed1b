"""Schema budgets from the app to the upstream. Each test names a row of the section on schema
budgets in `tool-discovery.md`, the paper that the feature comes from."""

import json
from typing import Any

import pytest

from app.core.codec import Json
from tests.builders import CATALOG, body, call, reply, search, tool
from tests.conftest import start_proxy

WORDY = tool("reports__build", "Build a report. " * 100, title="string", rows="integer?")
WORDY["function"]["parameters"]["properties"] |= {
    f"option_{at}": {"type": "string", "description": "What it does. " * 9} for at in range(50)
}
DIRECT = {**WORDY, "function": {**WORDY["function"], "name": "ask_report"}}
TOOLS = [*CATALOG, WORDY, DIRECT]
BUILD = call("c1", "reports__build", {"title": "Sales"})


def shown(request: Any, name: str) -> Json:
    return next(t["function"] for t in request["tools"] if t["function"]["name"] == name)


def size(value: Any) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def fits(function: Json) -> bool:
    return size(function["parameters"]) <= 5_000 and len(function["description"].encode()) <= 1_000


async def test_verbatim_is_the_default() -> None:
    async with start_proxy(reply(search("s", "build report")), reply("Done.")) as proxy:
        await proxy.post(body(TOOLS))
    first, second = proxy.upstream.requests
    assert shown(first, "ask_report") == DIRECT["function"]
    assert shown(second, "reports__build") == WORDY["function"]


async def test_declared_and_promoted_schemas_fit_the_third_party_budget() -> None:
    script = (reply(search("s", "build report")), reply("Done."))
    async with start_proxy(*script, schema_budget="third_party", limit=1) as proxy:
        response = await proxy.post(body(TOOLS))
    first, second = proxy.upstream.requests
    assert fits(shown(first, "ask_report"))
    promoted = shown(second, "reports__build")
    assert fits(promoted)
    sent, offered = map(int, response.headers["x-toolfold-tokens"].split("/"))
    assert sent < offered
    found = json.loads(second["messages"][-1]["content"])["tools"]
    assert found == [{"name": "reports__build", "description": promoted["description"]}]


async def test_found_schemas_fit_it_too() -> None:
    script = (reply(search("s", "build report")), reply("Done."))
    async with start_proxy(*script, schema_budget="third_party", strategy="wrap", limit=1) as proxy:
        await proxy.post(body(TOOLS))
    (found,) = json.loads(proxy.upstream.requests[1]["messages"][-1]["content"])["tools"]
    assert fits(found)
    declared = WORDY["function"]["parameters"]
    assert list(found["parameters"]["properties"]) == list(declared["properties"])
    assert found["parameters"]["required"] == declared["required"]


@pytest.mark.parametrize(
    ("arguments", "rounds"), [({"title": "Sales"}, 1), ({"title": 5}, 2)], ids=["right", "wrong"]
)
async def test_admission_validates_against_the_declared_schema(
    arguments: Json, rounds: int
) -> None:
    blind = call("c1", "reports__build", arguments)
    async with start_proxy(reply(blind), reply(BUILD), schema_budget=100) as proxy:
        await proxy.post(body(TOOLS))
    assert len(proxy.upstream.requests) == rounds


async def test_what_only_the_declared_schema_forbids_is_still_forbidden() -> None:
    """The ladder drops `oneOf`; a blind call is held to it all the same."""
    narrow = tool("plan__pick", "Pick a plan.", plan="string", note="string")
    branches = [{"const": "basic" * 9}, {"const": "large" * 9}]
    narrow["function"]["parameters"]["properties"]["plan"] = {"oneOf": branches}
    script = (
        reply(call("c1", "plan__pick", {"plan": "huge", "note": "x"})),
        reply(call("c2", "plan__pick", {"plan": "basic" * 9, "note": "x"})),
    )
    async with start_proxy(*script, schema_budget=150) as proxy:
        response = await proxy.post(body([*CATALOG, narrow]))
    second = proxy.upstream.requests[1]
    assert shown(second, "plan__pick")["parameters"]["properties"]["plan"] == {}
    assert response.json()["choices"][0]["message"]["tool_calls"][0]["id"] == "c2"


@pytest.mark.parametrize(
    ("members", "settings"),
    [({}, {"mode": "auto", "min_tokens": 10**6}), ({"n": 2}, {})],
    ids=["folding does not pay", "several choices"],
)
async def test_every_advertised_schema_fits_it_where_nothing_is_deferred(
    members: Json, settings: Json
) -> None:
    script = reply(BUILD)
    async with start_proxy(script, schema_budget="third_party", **settings) as proxy:
        response = await proxy.post(body(TOOLS, **members))
    (request,) = proxy.upstream.requests
    names = [entry["function"]["name"] for entry in request["tools"]]
    assert names == [entry["function"]["name"] for entry in TOOLS]
    assert all(fits(entry["function"]) for entry in request["tools"])
    assert response.json() == reply(BUILD)
    assert response.headers["x-toolfold-reason"] == "schema-budget"


async def test_a_request_within_its_budget_is_relayed_byte_for_byte() -> None:
    raw = body(CATALOG)
    settings: Json = {"mode": "auto", "schema_budget": "third_party"}
    async with start_proxy(reply("Hello."), **settings) as proxy:
        response = await proxy.post(raw)
    assert proxy.upstream.received[0].body == raw
    assert response.headers["x-toolfold-decision"] == "relayed"


async def test_search_reads_the_declared_descriptions() -> None:
    odd = tool("reports__other", "x " * 600 + "zebra crossings")
    script = (reply(search("s", "zebra crossings")), reply("Done."))
    async with start_proxy(*script, schema_budget="third_party") as proxy:
        await proxy.post(body([*CATALOG, odd]))
    second = proxy.upstream.requests[1]
    assert "zebra" not in shown(second, "reports__other")["description"]


async def test_provider_keywords_are_stripped_and_strict_adds_constraints() -> None:
    async with start_proxy(reply("Done."), schema_profile="openai_strict") as proxy:
        await proxy.post(body(TOOLS))
    parameters = shown(proxy.upstream.requests[0], "ask_report")["parameters"]
    assert parameters["additionalProperties"] is False
    assert parameters["required"] == list(parameters["properties"])
    assert parameters["properties"]["rows"]["type"] == ["integer", "null"]
