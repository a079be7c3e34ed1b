"""Which trait a refusal teaches. What is sent then is tested over sockets, in `quirks`."""

from typing import Any

import pytest

from app.core.answer import Answer
from app.core.errors import Refused
from app.core.exchange import Exchange
from app.core.fold import Fold
from app.core.policy import Policy
from app.core.remedy import Sent, is_ours, remedy, sent
from app.core.traits import DEFAULT, PROFILES, Traits
from tests.builders import CATALOG, body, call, dumps, tool
from tests.player import planned

THOUGHT = {"reasoning_content": "plan", "vendor_note": 1}


def folded(traits: Traits = DEFAULT, **policy: Any) -> Fold:
    tools = [tool("think"), tool("srv.read", "Reads a file of the server."), *CATALOG]
    plan = planned(body(tools), Policy(mode="on", **policy))
    assert isinstance(plan, Fold)
    return plan.under(traits, frozenset())


def searched(fold: Fold, *said: dict[str, Any], calling: bool = True, promoted: int = 2) -> Sent:
    """A round behind as many searches, with the first tools of the catalog promoted."""
    rounds = [
        Exchange({"content": "", **one}, [call(f"s{at}", "tool_search", "{}")], [Answer("found")])
        for at, one in enumerate(said)
    ]
    names = ["srv.read", "get_weather"][:promoted]
    return sent(fold, names, rounds, calling=calling)


def taught(message: str, what: Sent, status: int = 400) -> str | None:
    found = remedy(Refused(status, dumps({"error": {"message": message}})), what)
    return found.trait if found else None


TEACHES: dict[str, str | None] = {
    "reasoning_content is missing in assistant tool call message at index 2": None,
    "property 'reasoning_content' is unsupported": "never",
    "Unknown name \"reasoning_content\" at 'messages[1]'": "never",
    "Unrecognized key(s) in object: 'vendor_note'": "never",
    "Extra inputs are not permitted": "never",
    "Additional properties are not allowed": "never",
    "Missing required field: reasoning_details": "wants",
    "Function call is missing a thought_signature in functionCall parts.": "signs",
    "Tool call id was s0 but must be a-z, A-Z, 0-9, with a length of 9": "short_ids",
    "Invalid 'messages[2].tool_calls[0].id': string too long": "short_ids",
    "tool_call_ids did not have response messages: s0": None,
    "function_response.name: Name cannot be empty": "names_results",
    "messages.2.tool.name: Field required": "names_results",
    "messages: text content blocks must be non-empty": "content",
    "message at position 1 with role 'assistant' must not be empty": "content",
    "the content field of the message is blank": "content",
    "Invalid 'tools[1].function.description': string too long": "manifest",
    "function tool_search: description exceeds 1000 characters": "manifest",
    "Invalid 'tools[0].function.description': string too long": None,
    "Invalid 'tools': maximum length 3": "most_tools",
    "At most 1 tools": None,
    "Invalid 'tools': maximum length 128": None,
    "Tool names are not allowed to be [tool_search]": "bridge",
    "Invalid 'tools[1].function.name'": "bridge",
    "Invalid 'tools[2].function.name': does not match": "names",
    "Invalid schema for function 'get_weather'": "tool",
    "tools.3.function.parameters: bad": "tool",
    "Unsupported value: 'temperature'": None,
    "Invalid value: 'x'": None,
}


@pytest.mark.parametrize(("message", "trait"), TEACHES.items())
def test_what_a_refusal_teaches(message: str, trait: str | None) -> None:
    assert taught(message, searched(folded(), THOUGHT)) == trait


def test_a_member_that_one_message_has_and_another_lacks() -> None:
    both = searched(folded(), THOUGHT, {})
    assert taught("reasoning_content is missing", both) == "wants"
    assert taught("reasoning_content: extra inputs are not permitted", both) == "never"
    assert taught("reasoning_content must be passed back", both) == "wants"


def test_without_a_message_of_ours_there_is_nothing_to_mend_in_it() -> None:
    alone = searched(folded(), promoted=0)
    for message in TEACHES:
        assert taught(message, alone) in (None, "bridge", "manifest")


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500])
def test_other_statuses_teach_nothing(status: int) -> None:
    what = searched(folded(), THOUGHT)
    assert not any(taught(message, what, status) for message in TEACHES)


def test_a_choice_that_is_refused() -> None:
    exhausted = searched(folded(), THOUGHT, calling=False)
    assert taught("tool_choice must be auto", exhausted) == "takes_none"
    assert taught("tool_choice must be auto", searched(folded(), THOUGHT)) is None


def test_marks_that_are_refused() -> None:
    marked = searched(folded(PROFILES["vllm"], strategy="native"), THOUGHT)
    assert taught("unknown field defer_loading", marked) == "defers"
    assert taught("unknown part tool_reference", marked) == "references"
    assert taught("too many tools: 20 > 5", marked) == "defers"


OURS = {
    "tools: something is wrong": True,
    "Invalid tools[1]": True,
    "Invalid tools[0].function.parameters": False,
    "messages: something is wrong": True,
    "temperature is wrong": False,
}


@pytest.mark.parametrize(("message", "ours"), OURS.items())
def test_whether_folding_may_be_why(message: str, ours: bool) -> None:
    refused = Refused(400, dumps({"error": {"message": message}}))
    assert is_ours(refused, searched(folded(), THOUGHT)) == ours


def test_messages_are_the_clients_where_none_is_ours() -> None:
    refused = Refused(400, dumps({"error": {"message": "messages[0] is wrong"}}))
    assert not is_ours(refused, searched(folded()))
