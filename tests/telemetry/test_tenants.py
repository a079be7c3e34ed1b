"""What is told of tenants, of the policy file, and of headers that are not obeyed."""

from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.main import create_app, create_telemetry
from app.settings import Settings
from tests.builders import body, numbered, reply
from tests.conftest import start_proxy
from tests.telemetry.conversations import samples, stats, value

FILE = (
    "version: 1\ntenants: {acme: {policy: quiet}, other-one: {}}\npolicies: {quiet: {mode: off}}\n"
)


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    path = tmp_path / "policies.yaml"
    path.write_text(FILE)
    return path


async def test_tenants_of_the_file_are_told_apart_as_far_as_there_is_room(policies: Path) -> None:
    setup: dict[str, Any] = {"policy_file": str(policies), "metrics_tenants": 1}
    with capture_logs() as logs:
        async with start_proxy(reply("Hi"), **setup) as proxy:
            for tenant in ("acme", "other-one"):
                await proxy.post(body(), **{"X-Toolfold-Tenant": tenant})
            for label, reason in (("acme", "mode-off"), ("other", "mode-on")):
                said = {"tenant": label, "reason": reason}
                assert await value(proxy, "toolfold_requests_total", **said) == 1
            assert set((await stats(proxy))["tenants"]) == {"acme", "other"}
    lines = [(line["tenant"], line["policy"]) for line in logs if line["event"] == "request"]
    assert lines[0] == ("acme", "quiet")
    assert lines[1][0] == "other-one"


async def test_a_refusal_of_ours_is_a_decision_with_its_reason() -> None:
    with capture_logs() as logs:
        async with start_proxy(reply("Hi")) as proxy:
            await proxy.post(body(), **{"X-Toolfold-Limit": "many"})
            said = {"decision": "refused", "code_class": "4xx"}
            assert await value(proxy, "toolfold_requests_total", **said) == 1
    assert [line["decision"] for line in logs if line["event"] == "request"] == ["refused"]


async def test_what_is_only_observed_has_saved_nothing() -> None:
    async with start_proxy(reply("Hi"), mode="observe", alarm_after=1) as proxy:
        response = await proxy.post(body(numbered(50, 400)))
        assert response.headers["x-toolfold-decision"] == "observed"
        assert await value(proxy, "toolfold_tool_tokens_offered_total") == 0
        assert await value(proxy, "toolfold_alarm", alarm="nothing_folded") == 0


async def test_a_request_that_is_not_taken_on_is_shed() -> None:
    async with start_proxy(reply("Hi"), body_mb=1) as proxy:
        response = await proxy.post(body(text="x" * 2_000_000))
        assert response.status_code == 413
        assert await value(proxy, "toolfold_shed_total", reason="request_too_large") == 1


async def test_headers_of_ours_from_a_peer_that_is_not_trusted_are_counted() -> None:
    async with start_proxy(reply("Hi"), trusted_peers="10.0.0.0/8") as proxy:
        await proxy.post(body(), **{"X-Toolfold-Mode": "off", "X-Toolfold-Limit": "1"})
        assert await value(proxy, "toolfold_policy_header_rejected_total") == 2


def test_a_policy_file_that_is_read_again_is_counted_good_or_bad(policies: Path) -> None:
    settings = Settings(policy_file=str(policies))
    telemetry = create_telemetry(settings)
    file = create_app(settings, telemetry).state.policy_file
    for text in (FILE, "version: 1\ntenants: 7\n"):
        policies.write_text(text)
        file.reload()
    reloads = {
        labels["result"]: number
        for name, labels, number in samples(telemetry.metrics.text())
        if name == "toolfold_config_reloads_total"
    }
    assert reloads == {"success": 1, "failure": 1}
