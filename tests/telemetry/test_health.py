"""Alarms: said once, over when they are."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.builders import CATALOG, body, numbered, reply, tool
from tests.conftest import start_proxy
from tests.telemetry.conversations import ended, stats, value


def warnings(logs: list[Any]) -> list[Any]:
    return [entry for entry in logs if entry["log_level"] == "warning"]


async def test_nothing_folded_is_said_once_and_over_with_the_first_fold() -> None:
    with capture_logs() as logs:
        async with start_proxy(reply("Hi"), mode="auto", alarm_after=3) as proxy:
            for count in (1, 1):
                await proxy.post(body(numbered(count)))
            await ended(proxy)
            assert warnings(logs) == []
            for count in (1, 1, 1):
                await proxy.post(body(numbered(count)))
            assert await value(proxy, "toolfold_alarm", alarm="nothing_folded") == 1
            [said] = warnings(logs)
            await proxy.post(body(numbered(200, 100)))
            assert await value(proxy, "toolfold_alarm", alarm="nothing_folded") == 0
    assert (said["event"], said["requests"]) == ("nothing_folded", 3)
    assert said["commonest_reason"] == "few-tokens"


@pytest.mark.parametrize(
    ("setup", "sent"),
    [({"mode": "off"}, body()), ({"mode": "auto"}, body([]))],
    ids=["off", "no-tools"],
)
async def test_what_could_not_fold_is_no_alarm(setup: Any, sent: bytes) -> None:
    with capture_logs() as logs:
        async with start_proxy(reply("Hi"), alarm_after=1, **setup) as proxy:
            await proxy.post(sent)
            assert not any((await stats(proxy))["health"]["alarms"].values())
    assert warnings(logs) == []


async def test_core_tools_that_a_policy_defers_are_an_alarm() -> None:
    with capture_logs() as logs:
        async with start_proxy(reply("Hi"), deferred="*") as proxy:
            for _ in range(2):
                await proxy.post(body([*CATALOG, tool("ask_user")]))
            assert await value(proxy, "toolfold_alarm", alarm="core_tools_deferred") == 1
            assert (await stats(proxy))["health"]["alarms"]["core_tools_deferred"]
    [said] = warnings(logs)
    assert (said["event"], said["tools"]) == ("core_tools_deferred", ["ask_user"])


async def test_a_policy_that_leaves_them_alone_is_none() -> None:
    async with start_proxy(reply("Hi")) as proxy:
        await proxy.post(body([*CATALOG, tool("ask_user")]))
        assert await value(proxy, "toolfold_alarm", alarm="core_tools_deferred") == 0
