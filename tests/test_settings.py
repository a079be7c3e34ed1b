from pathlib import Path

import pytest
from pydantic import ValidationError

from app.core.policy import Policy
from app.core.traits import PROFILES
from app.settings import Settings

ROOT = Path(__file__).parent.parent


def test_the_defaults_of_settings_and_policy_are_the_same() -> None:
    assert Settings().policy() == Policy()


def test_the_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLFOLD_UPSTREAM_BASE_URL", "http://127.0.0.1:9/v1/")
    monkeypatch.setenv("TOOLFOLD_HIDDEN", "family:crm, *_delete ,")
    monkeypatch.setenv("TOOLFOLD_MODE", "on")
    monkeypatch.setenv("TOOLFOLD_SCHEMA_BUDGET", "2000")
    settings = Settings()
    assert settings.upstream_base_url == "http://127.0.0.1:9/v1"
    assert settings.policy() == Policy(
        mode="on", hidden=("family:crm", "*_delete"), schema_budget=2_000
    )


WRONG = {
    "a port out of range": {"port": 70_000},
    "a mode that there is not": {"mode": "sometimes"},
    "a share over 1": {"min_saving": 1.1},
    "a limit over 20": {"limit": 21},
    "a schema budget that is none": {"schema_budget": "small"},
    "a profile that there is not": {"schema_profile": "claude"},
    "no URL": {"upstream_base_url": "api.openai.com"},
    "a URL with credentials": {"upstream_base_url": "https://user:word@api.openai.com/v1"},
    "a URL with a query": {"upstream_base_url": "https://api.openai.com/v1?x=1"},
    "a ranker's URL that is none": {"ranker_url": "localhost"},
}


@pytest.mark.parametrize("given", WRONG.values(), ids=WRONG)
def test_wrong_values_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError) as caught:
        Settings(**given)  # type: ignore[arg-type]
    assert caught.value.errors()[0]["loc"] == tuple(given)


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(ValidationError) as caught:
        Settings(port=-1, limit=0, mode="x")  # type: ignore[arg-type]
    assert len(caught.value.errors()) == 3


def test_a_remote_ranker_needs_its_endpoint() -> None:
    with pytest.raises(ValidationError, match="`rerank` needs `ranker_url`"):
        Settings(ranker="rerank")


def test_a_key_is_not_shown() -> None:
    assert "s3cret" not in repr(Settings(ranker_key="s3cret"))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_stands_in_the_docs(name: str) -> None:
    assert f"`{name}`" in (ROOT / "docs" / "upstreams.md").read_text()


def test_the_profile_goes_by_the_host_unless_it_is_named() -> None:
    mistral = Settings(upstream_base_url="https://api.mistral.ai/v1")
    assert mistral.traits() == PROFILES["mistral"]
    named = Settings(upstream_base_url="https://api.mistral.ai/v1", upstream_profile="vllm")
    assert named.traits() == PROFILES["vllm"]
    assert Settings(upstream_base_url="http://127.0.0.1:9/v1").traits() == PROFILES["default"]
