"""Scripts of upstream replies. Each is played in every framing by the parity test."""

from typing import Any

from app.core.errors import Refused
from tests.builders import CATALOG, call, dumps, reply, search, tool

WEATHER_CALL = call("c1", "get_weather", {"city": "Oslo"})
WRONG_CALL = call("c0", "get_weather", {"town": "Oslo"})
UNDECLARED = Refused(
    400,
    dumps(
        {
            "error": {
                "message": "attempted to call tool 'get_weather' which was not in request.tools",
                "code": "tool_use_failed",
            }
        }
    ),
)
SIGNED = {"extra_content": {"google": {"thought_signature": "sig"}}}

Script = tuple[list[Any], dict[str, Any]]
"""Replies, and how the turn is set up."""

SCRIPTS: dict[str, Script] = {
    "words": ([reply("Hello there")], {}),
    "a blind call": ([reply(WEATHER_CALL)], {}),
    "a call of a direct tool": (
        [reply(call("c1", "think", {}))],
        {"tools": [*CATALOG, tool("think")]},
    ),
    "a search, then words": ([reply(search("s1", "weather")), reply("Done", n=2)], {}),
    "words, a search, a call": (
        [reply("Let me look. ", search("s1", "weather")), reply(WEATHER_CALL, n=2)],
        {},
    ),
    "two searches at once": (
        [reply(search("s1", "weather"), search("s2", "refund")), reply("Done", n=2)],
        {},
    ),
    "two searches in turn": (
        [reply(search("s1", "weather")), reply(search("s2", "refund"), n=2), reply("Done", n=3)],
        {},
    ),
    "a search beside a call": ([reply(search("s1", "refund"), WEATHER_CALL)], {}),
    "a search between calls": (
        [reply(WEATHER_CALL, search("s1", "refund"), call("c2", "crm__read_deal", {"id": "1"}))],
        {},
    ),
    "a signed search beside a call": (
        [reply({**search("s1", "refund"), **SIGNED}, WEATHER_CALL)],
        {},
    ),
    "reasoning before a search": (
        [
            reply(search("s1", "weather"), reasoning_content="Look."),
            reply(WEATHER_CALL, n=2, reasoning_content="Call."),
        ],
        {},
    ),
    "a blind call with wrong arguments": ([reply(WRONG_CALL), reply(WEATHER_CALL, n=2)], {}),
    "words and a blind call with wrong arguments": (
        [reply("Looking. ", WRONG_CALL), reply("Looking. ", WEATHER_CALL, n=2)],
        {},
    ),
    "other words when played again": (
        [reply("Looking. ", WRONG_CALL), reply("Let me see. ", WEATHER_CALL, n=2)],
        {},
    ),
    "a name that can only mean one tool": (
        [reply(call("c0", "functions.getWeather", {"city": "Oslo"})), reply(WEATHER_CALL, n=2)],
        {},
    ),
    "a refusal of an undeclared tool": ([UNDECLARED, reply(WEATHER_CALL)], {}),
    "an unknown name, then words": ([reply(call("x1", "send_fax")), reply("Sorry", n=2)], {}),
    "an unknown name for ever": ([reply(call("x1", "send_fax"))], {}),
    "an unknown name beside a call": ([reply(call("x1", "send_fax"), WEATHER_CALL)], {}),
    "a hidden tool, then words": (
        [reply(call("h1", "get_weather", {"city": "Oslo"})), reply("Sorry", n=2)],
        {"policy": {"hidden": ("get_weather",)}},
    ),
    "a hidden tool for ever": (
        [reply("Hm. ", call("h1", "get_weather", {"city": "Oslo"}))],
        {"policy": {"hidden": ("get_weather",)}},
    ),
    "a hidden tool beside a call": (
        [reply(WEATHER_CALL, call("c2", "crm__read_deal", {"id": "1"}))],
        {"policy": {"hidden": ("get_weather",)}},
    ),
    "a search for ever": ([reply(search("s1", "weather"))], {}),
    "a search for ever where a call is required": (
        [reply(search("s1", "weather"))],
        {"tool_choice": "required"},
    ),
    "a search that cannot be read": (
        [reply(call("s1", "tool_search", '{"query": ')), reply("Done", n=2)],
        {},
    ),
    "finish says stop": ([reply(search("s1", "weather"), finish="stop"), reply("Done", n=2)], {}),
    "finish says calls and there are none": ([reply("One moment", finish="tool_calls")], {}),
    "a custom call": (
        [
            reply({"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}),
        ],
        {
            "tools": [
                *CATALOG,
                {"type": "custom", "custom": {"name": "sql", "description": "x" * 99}},
            ]
        },
    ),
}


def wrapped(identifier: str, name: str, arguments: object, **extra: Any) -> Any:
    """A call through the wrapper."""
    return call(identifier, "call_tool", {"name": name, "arguments": arguments}, **extra)


WRAP: dict[str, Any] = {"policy": {"strategy": "wrap"}}
WRAPPED_CALL = wrapped("c1", "get_weather", {"city": "Oslo"})
SCRIPTS |= {
    "wrap: a call": ([reply(WRAPPED_CALL)], WRAP),
    "wrap: words and a call": ([reply("Look. ", WRAPPED_CALL)], WRAP),
    "wrap: a search, a call": ([reply(search("s1", "weather")), reply(WRAPPED_CALL, n=2)], WRAP),
    "wrap: a search beside a call": ([reply(search("s1", "refund"), WRAPPED_CALL)], WRAP),
    "wrap: two calls": (
        [reply(WRAPPED_CALL, wrapped("c2", "crm__read_deal", {"id": "1"}))],
        WRAP,
    ),
    "wrap: arguments as a text": ([reply(wrapped("c1", "get_weather", '{"city": "Oslo"}'))], WRAP),
    "wrap: a call by the tool's own name": ([reply(WEATHER_CALL)], WRAP),
    "wrap: wrong arguments": (
        [reply(wrapped("c0", "get_weather", {"town": "Oslo"})), reply(WRAPPED_CALL, n=2)],
        WRAP,
    ),
    "wrap: wrong arguments, by its own name": ([reply(WRONG_CALL), reply(WRAPPED_CALL, n=2)], WRAP),
    "wrap: a name that can only mean one tool": (
        [reply(wrapped("c1", "getWeather", {"city": "Oslo"}))],
        WRAP,
    ),
    "wrap: an unknown name, then words": (
        [reply(wrapped("x1", "send_fax", {})), reply("Sorry", n=2)],
        WRAP,
    ),
    "wrap: an unknown name for ever": ([reply(wrapped("x1", "send_fax", {}))], WRAP),
    "wrap: a direct tool": (
        [reply(wrapped("x1", "think", {})), reply(call("c1", "think", {}), n=2)],
        {**WRAP, "tools": [*CATALOG, tool("think")]},
    ),
    "wrap: a call that cannot be read": (
        [reply(call("x1", "call_tool", '{"name": ')), reply(WRAPPED_CALL, n=2)],
        WRAP,
    ),
    "wrap: a call that can never be read": ([reply(call("x1", "call_tool", "[]"))], WRAP),
    "wrap: a hidden tool": (
        [reply(WRAPPED_CALL), reply("Sorry", n=2)],
        {"policy": {"strategy": "wrap", "hidden": ("get_weather",)}},
    ),
    "wrap: a search for ever where a call is required": (
        [reply(search("s1", "weather"))],
        {**WRAP, "tool_choice": "required"},
    ),
}
