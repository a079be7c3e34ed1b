"""What real upstreams refuse, as rules of the scripted one."""

import json
import re
from collections.abc import Callable
from typing import Any

from app.core.codec import Json
from tests.builders import dumps
from tests.upstream import Raw, Received, Scripted

Rule = Callable[[Any], Raw | None]
"""The refusal of a request, None where it is taken."""


def refusal(message: str, status: int = 400, **members: Any) -> Raw:
    """An error in OpenAI's form."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return Raw(dumps({"error": error | members}), status, "application/json")


def ruled(rule: Rule, *script: Json | Raw | int) -> Scripted:
    """An upstream that refuses what breaks the rule and otherwise plays its script, the last
    reply for ever. What is refused takes nothing of the script."""
    waiting = list(script)

    def answer(received: Received) -> Json | Raw | int:
        if (refused := rule(received.json)) is not None:
            return refused
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return answer


def assistants(request: Any) -> list[Json]:
    """The assistant messages that call tools."""
    return [m for m in request["messages"] if m["role"] == "assistant" and m.get("tool_calls")]


def wants(key: str, message: str = "") -> Rule:
    """DeepSeek, Kimi: every assistant message with calls has this member."""
    said = message or f"thinking is enabled but {key} is missing in assistant tool call message"

    def rule(request: Any) -> Raw | None:
        lacking = any(key not in one for one in assistants(request))
        return refusal(said) if lacking else None

    return rule


def extra_forbidden(request: Any) -> Raw | None:
    """Mistral, and every server that reads messages strictly."""
    for at, one in enumerate(request["messages"]):
        for key in one.keys() - {"role", "content", "tool_calls", "name", "tool_call_id"}:
            loc = ["body", "messages", at, "assistant", key]
            detail = {"type": "extra_forbidden", "loc": loc, "input": one[key]}
            detail["msg"] = "Extra inputs are not permitted"
            return Raw(dumps({"detail": [detail]}), 422, "application/json")
    return None


def unsupported(request: Any) -> Raw | None:
    """Groq."""
    for at, one in enumerate(request["messages"]):
        for key in one.keys() - {"role", "content", "tool_calls", "name", "tool_call_id"}:
            said = f"'messages.{at}' : for 'role:assistant' the following must be satisfied"
            said += f"[('messages.{at}' : property '{key}' is unsupported)]"
            return refusal(said)
    return None


def nameless_extra(request: Any) -> Raw | None:
    """A refusal that does not say which member."""
    refused = extra_forbidden(request)
    return refusal("Extra fields are not allowed in messages", 422) if refused else None


def signed(request: Any) -> Raw | None:
    """Gemini 3: the first call of every message is signed."""
    for one in assistants(request):
        google = one["tool_calls"][0].get("extra_content", {}).get("google", {})
        if not google.get("thought_signature"):
            name = one["tool_calls"][0]["function"]["name"]
            said = "Function call is missing a thought_signature in functionCall parts. "
            return refusal(said + f"function call `default_api:{name}`, position 2.")
    return None


def short_ids(request: Any) -> Raw | None:
    """Mistral."""
    for one in assistants(request):
        for made in one["tool_calls"]:
            if not re.fullmatch("[a-zA-Z0-9]{9}", made["id"]):
                said = f"Tool call id was {made['id']} but must be a-z, A-Z, 0-9, with a length "
                body = {"object": "error", "message": said + "of 9.", "code": "3280"}
                return Raw(dumps(body), 400, "application/json")
    return None


def spoken(request: Any) -> Raw | None:
    """Anthropic, Bedrock: no empty text."""
    silent = any(one.get("content") == "" for one in assistants(request))
    return refusal("messages: text content blocks must be non-empty") if silent else None


def never_null(request: Any) -> Raw | None:
    """Templates that add the content to a text."""
    null = any(one.get("content", None) is None for one in assistants(request))
    return refusal("assistant message content must be a string, not null") if null else None


def named_results(request: Any) -> Raw | None:
    """Gemini: a result names its function."""
    nameless = any(m["role"] == "tool" and not m.get("name") for m in request["messages"])
    said = (
        "GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty."
    )
    return refusal(said) if nameless else None


def most_tools(most: int) -> Rule:
    """OpenAI, Copilot."""

    def rule(request: Any) -> Raw | None:
        count = len(request.get("tools", []))
        said = f"Invalid 'tools': array too long. Expected an array with maximum length {most}, "
        said += f"but got an array with length {count} instead."
        return refusal(said, param="tools", code="array_above_max_length") if count > most else None

    return rule


def plain_names(request: Any) -> Raw | None:
    """OpenAI: names in `tools`."""
    for at, tool in enumerate(request.get("tools", [])):
        if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", tool["function"]["name"]):
            where = f"tools[{at}].function.name"
            said = f"Invalid '{where}': string does not match pattern. Expected a string that "
            return refusal(said + "matches the pattern '^[a-zA-Z0-9_-]+$'.", param=where)
    return None


def plain_history(request: Any) -> Raw | None:
    """OpenAI: names in the messages."""
    for one in assistants(request):
        for made in one["tool_calls"]:
            if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", made["function"]["name"]):
                return refusal("Invalid 'messages[1].tool_calls[0].function.name'")
    return None


def not_named(*names: str) -> Rule:
    """DashScope."""

    def rule(request: Any) -> Raw | None:
        taken = [t["function"]["name"] for t in request.get("tools", [])]
        bad = [name for name in taken if name in names]
        return refusal(f"Tool names are not allowed to be [{', '.join(bad)}]") if bad else None

    return rule


def described_within(most: int) -> Rule:
    """OpenAI, Azure: how long a function's description may be."""

    def rule(request: Any) -> Raw | None:
        for at, tool in enumerate(request.get("tools", [])):
            length = len(tool["function"].get("description", ""))
            if length > most:
                where = f"tools[{at}].function.description"
                said = f"Invalid '{where}': string too long. Expected a string with maximum "
                return refusal(said + f"length {most}, but got {length}.", param=where)
        return None

    return rule


def tools_with_calls(request: Any) -> Raw | None:
    """Anthropic, Bedrock: history that calls needs tools."""
    lacking = bool(assistants(request)) and not request.get("tools")
    said = "Requests which include `tool_use` or `tool_result` blocks must define tools"
    return refusal(said) if lacking else None


def choice_of_a_tool(request: Any) -> Raw | None:
    """A `tool_choice` names what is declared."""
    choice = request.get("tool_choice")
    names = {(t.get("function") or t).get("name") for t in request.get("tools", [])}
    if isinstance(choice, dict):
        listed = (choice.get("allowed_tools") or choice).get("tools") or [choice]
        for entry in listed:
            if entry["function"]["name"] not in names:
                return refusal("Tool choice names a tool that is not in 'tools'.")
    return None


def never_none(request: Any) -> Raw | None:
    """Servers that know `auto` and a name only."""
    said = "tool_choice must be one of: auto, required"
    return refusal(said) if request.get("tool_choice") == "none" else None


def json_arguments(request: Any) -> Raw | None:
    """vLLM reads the arguments of history."""
    try:
        values = [
            json.loads(made["function"]["arguments"])
            for one in assistants(request)
            for made in one["tool_calls"]
        ]
    except ValueError:
        return refusal("arguments", 500)
    return None if all(isinstance(value, dict) for value in values) else refusal("arguments", 500)
