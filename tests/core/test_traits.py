from dataclasses import replace
from typing import get_args

import pytest

from app.core.traits import DEFAULT, PROFILES, Traits, UpstreamProfile, profile_of

HOSTS = {
    "api.openai.com": "openai",
    "API.OpenAI.com.": "openai",
    "eu.api.openai.com": "openai",
    "res.openai.azure.com": "azure",
    "res.cognitiveservices.azure.com": "azure",
    "openrouter.ai": "openrouter",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral",
    "api.deepseek.com": "deepseek",
    "generativelanguage.googleapis.com": "gemini",
    "europe-west1-aiplatform.googleapis.com": "gemini",
    "api.anthropic.com": "anthropic-compat",
    "127.0.0.1": "default",
    "api.openai.com.example.org": "default",
    "notopenrouter.ai": "default",
    "": "default",
}


@pytest.mark.parametrize(("host", "profile"), HOSTS.items())
def test_the_host_says_which_profile(host: str, profile: str) -> None:
    assert profile_of(host) == profile


def test_every_profile_has_its_traits() -> None:
    assert set(PROFILES) == set(get_args(UpstreamProfile))


NAMES = {"get_weather": True, "a-b_1": True, "n" * 64: True, "n" * 65: False, "a.b": False}


@pytest.mark.parametrize(("name", "taken"), NAMES.items())
def test_names_that_an_upstream_takes(name: str, taken: bool) -> None:
    assert PROFILES["openai"].takes(name) == taken
    assert DEFAULT.takes(name)


SAID = {"content": "", "reasoning_content": "r", "vendor": 1}


@pytest.mark.parametrize(
    ("traits", "message"),
    [
        (DEFAULT, SAID),
        (Traits(content=None), {**SAID, "content": None}),
        (Traits(never=frozenset({"vendor"})), {"content": "", "reasoning_content": "r"}),
        (Traits(never=frozenset({"*"})), {"content": ""}),
        (
            Traits(never=frozenset({"*"}), wants=frozenset({"reasoning_content"})),
            {"content": "", "reasoning_content": "r"},
        ),
        (Traits(wants=frozenset({"reasoning_content", "reasoning"})), {**SAID, "reasoning": ""}),
        (Traits(wants=frozenset({"reasoning_details"})), {**SAID, "reasoning_details": []}),
    ],
)
def test_a_message_of_ours(traits: Traits, message: object) -> None:
    assert traits.message(SAID) == message
    assert next(iter(traits.message(SAID))) == "content"


def test_words_stay_words() -> None:
    assert Traits(content=None).message({"content": "Hm."}) == {"content": "Hm."}


CALL = {"id": "call_1", "type": "function", "function": {}, "extra_content": {"a": 1}, "x": 2}


def test_a_call_of_ours() -> None:
    assert DEFAULT.call(CALL, first=True) == CALL
    plain = Traits(never=frozenset({"*"})).call(CALL, first=True)
    assert plain.keys() == {"id", "type", "function"}


def test_the_first_call_is_signed_where_it_is_not() -> None:
    traits = Traits(signs=True)
    unsigned = {k: v for k, v in CALL.items() if k != "extra_content"}
    assert traits.call(CALL, first=True)["extra_content"] == {"a": 1}
    assert "extra_content" not in traits.call(unsigned, first=False)
    google = traits.call(unsigned, first=True)["extra_content"]["google"]
    assert google == {"thought_signature": "skip_thought_signature_validator"}


@pytest.mark.parametrize("given", ["call_1", "", "x" * 300, "\ud83d"])
def test_a_short_id_is_the_same_for_the_same_one(given: str) -> None:
    traits = Traits(short_ids=True)
    short = traits.id(given)
    assert (len(short), short.isalnum(), traits.id(given)) == (9, True, short)
    assert traits.id(short) == short
    assert DEFAULT.id(given) == given


def test_traits_are_values() -> None:
    assert replace(DEFAULT, signs=True) == Traits(signs=True)
    assert len({DEFAULT, Traits(), Traits(signs=True)}) == 2
