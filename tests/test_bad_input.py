"""Bodies that no SDK would send. Each is relayed byte for byte, or refused with an error in
OpenAI's shape that names the field; none is a fault of ours and none is lost."""

import json
from typing import Any

import pytest

from app.core.body import Body
from tests.builders import CATALOG, body, call, dumps, numbered, reply, request, search, tool
from tests.conftest import start_proxy
from tests.upstream import Raw

MEGABYTE = "x" * 1_000_000
TOOLS = dumps(CATALOG)
MESSAGES = b'[{"role":"user","content":"Hello"}]'


def raw(tools: bytes = TOOLS, messages: bytes = MESSAGES, rest: bytes = b"") -> bytes:
    return b'{"model":"m","messages":' + messages + b',"tools":' + tools + rest + b"}"


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def deep_tool(depth: int) -> bytes:
    entry = json.dumps(tool("deep")).replace('"string"', "").encode()
    return b"[" + entry.replace(b'"properties": {}', b'"default": ' + nested(depth)) + b"]"


def many(count: int, name: bytes = b'"t"') -> bytes:
    entry = b'{"type":"function","function":{"name":' + name + b"}}"
    return b"[" + b",".join([entry] * count) + b"]"


RELAYED = {
    "empty": (b"", "not-json"),
    "not JSON": (b"hello", "not-json"),
    "cut off": (body()[:-1], "not-json"),
    "two objects": (body() + body(), "not-json"),
    "a list": (b"[" + body() + b"]", "not-json"),
    "null": (b"null", "not-json"),
    "a number": (b"7", "not-json"),
    "NaN": (raw(rest=b',"temperature":NaN'), "not-json"),
    "Infinity": (raw(rest=b',"temperature":-Infinity'), "not-json"),
    "bad UTF-8 in a tool": (raw(TOOLS.replace(b"Current", b"\xff")), "not-json"),
    "bad UTF-8": (raw(rest=b',"user":"\xff\xfe"'), "not-json"),
    "half a character": (raw(rest=b',"user":"\xe2\x82"'), "not-json"),
    "surrogates as UTF-8": (raw(rest=b',"user":"\xed\xa0\x80"'), "not-json"),
    "byte-order mark": (b"\xef\xbb\xbf" + body(), "not-json"),
    "UTF-16": (body().decode().encode("utf-16"), "not-json"),
    "UTF-32": (body().decode().encode("utf-32-le"), "not-json"),
    "a raw control character": (raw(rest=b',"user":"\x00"'), "not-json"),
    "trailing comma": (body()[:-1] + b",}", "not-json"),
    "tools twice": (raw(rest=b',"tools":[]'), "duplicate-keys"),
    "tools twice, equal": (raw(rest=b',"tools":' + TOOLS), "duplicate-keys"),
    "tools twice, escaped": (raw(rest=b',"to\\u006fls":[]'), "duplicate-keys"),
    "model twice": (raw(rest=b',"model":"n"'), "duplicate-keys"),
    "messages twice": (raw(rest=b',"messages":[]'), "duplicate-keys"),
    "no tools": (b'{"model":"m"}', "no-tools"),
    "no members": (b"{}", "no-tools"),
    "tools null": (raw(b"null"), "no-tools"),
    "tools empty": (raw(b"[ ]"), "no-tools"),
    "tools {}": (raw(b"{}"), "no-tools"),
    "tools an object": (raw(b'{"type":"function","function":{"name":"f"}}'), "tools-malformed"),
    "tools a string": (raw(b'"x"'), "tools-malformed"),
    "tools a number": (raw(b"17"), "tools-malformed"),
    "tools true": (raw(b"true"), "tools-malformed"),
    "a tool that is a string": (raw(b'["get_weather"]'), "tools-malformed"),
    "a tool that is null": (raw(b"[null]"), "tools-malformed"),
    "a tool that is a list": (raw(b"[[]]"), "tools-malformed"),
    "a tool without function": (raw(b'[{"type":"function"}]'), "tools-malformed"),
    "a function that is null": (raw(b'[{"type":"function","function":null}]'), "tools-malformed"),
    "a tool without a name": (raw(b'[{"type":"function","function":{}}]'), "tools-malformed"),
    "an empty name": (raw(many(1, b'""')), "tools-malformed"),
    "a name that is null": (raw(many(1, b"null")), "tools-malformed"),
    "a name that is a number": (raw(many(1, b"7")), "tools-malformed"),
    "a name that is an object": (raw(many(1, b"{}")), "tools-malformed"),
    "a type that is a list": (raw(b'[{"type":[],"function":{"name":"f"}}]'), "nothing-to-defer"),
    "a tool 65 deep": (raw(deep_tool(60)[:-1] + b"," + TOOLS[1:]), "tools-too-deep"),
    "names twice": (raw(many(2)), "tools-malformed"),
    "functions": (raw(rest=b',"functions":[{"name":"f"}]'), "legacy-functions"),
    "several choices": (raw(rest=b',"n":2'), "several-choices"),
    "many choices": (raw(rest=b',"n":' + b"9" * 400), "several-choices"),
    "no choice": (raw(rest=b',"n":0'), "several-choices"),
    "n a string": (raw(rest=b',"n":"2"'), "several-choices"),
    "n a fraction": (raw(rest=b',"n":1.5'), "several-choices"),
    "no messages": (b'{"model":"m","tools":' + TOOLS + b"}", "messages-malformed"),
    "messages null": (raw(messages=b"null"), "messages-malformed"),
    "messages {}": (raw(messages=b"{}"), "messages-malformed"),
    "messages a string": (raw(messages=b'"hi"'), "messages-malformed"),
    "messages of strings": (raw(messages=b'["hi"]'), "messages-malformed"),
    "messages of nulls": (raw(messages=b"[null]"), "messages-malformed"),
    "calls a string": (raw(messages=b'[{"tool_calls":"x"}]'), "messages-malformed"),
    "a call that is null": (raw(messages=b'[{"tool_calls":[null]}]'), "messages-malformed"),
    "a called name that is a number": (
        raw(messages=b'[{"tool_calls":[{"function":{"name":7}}]}]'),
        "messages-malformed",
    ),
    "100,000 deep": (raw(rest=b',"x":' + nested(100_000)), "not-json"),
    "100,000 deep, open": (b'{"tools":' + b"[" * 100_000, "not-json"),
    "tools 100,000 deep": (raw(nested(100_000)), "not-json"),
    "messages 100,000 deep": (raw(messages=nested(100_000)), "not-json"),
}


@pytest.mark.parametrize(("sent", "reason"), RELAYED.values(), ids=RELAYED)
async def test_what_we_do_not_understand_is_the_upstreams_to_judge(
    sent: bytes, reason: str
) -> None:
    async with start_proxy(Raw(b'{"error":1}', 400, "application/json")) as proxy:
        response = await proxy.post(sent)

    assert [received.body for received in proxy.upstream.received] == [sent]
    assert (response.status_code, response.content) == (400, b'{"error":1}')
    assert response.headers["x-toolfold-decision"] == "relayed"
    assert response.headers["x-toolfold-reason"] == reason


UNDERSTOOD = {
    "1e400": raw(rest=b',"temperature":1e400'),
    "1e999999999": raw(rest=b',"temperature":1e999999999'),
    "5,000 digits": raw(rest=b',"seed":' + b"9" * 5_000),
    "5,000 digits in a tool": raw(TOOLS.replace(b'"string"', b'"string","x":' + b"9" * 5_000)),
    "1e400 in a tool": raw(TOOLS.replace(b'"string"', b'"string","default":1e400', 1)),
    "surrogate in a message": raw(messages=b'[{"role":"user","content":"\\ud83d"}]'),
    "surrogate in a description": raw(TOOLS.replace(b"Current", b"\\udc00")),
    "surrogate in a name": raw(TOOLS.replace(b"get_weather", b"get_\\ud800")),
    "surrogate in a property": raw(TOOLS.replace(b'"city"', b'"\\udfff"')),
    "surrogate in a key": raw(rest=b',"\\ud800":1'),
    "null in a description": raw(TOOLS.replace(b"Current", b"\\u0000")),
    "depth 64": raw(rest=b',"x":' + nested(64)),
    "depth 65": raw(rest=b',"x":' + nested(65)),
    "depth 1,100": raw(rest=b',"x":' + nested(1_100)),
    "a tool 64 deep": raw(deep_tool(59)[:-1] + b"," + TOOLS[1:]),
    "tool of depth 1,100": raw(deep_tool(1_100)[:-1] + b"," + TOOLS[1:]),
    "message of depth 1,100": raw(
        messages=b'[{"role":"user","content":"x","y":' + nested(1_100) + b"}]"
    ),
    "a name of 1 MB": raw(dumps([*CATALOG, tool(MEGABYTE)])),
    "a description of 1 MB": raw(dumps([*CATALOG, tool("long", MEGABYTE)])),
    "a name of spaces": raw(dumps([*CATALOG, tool("  ")])),
    "parameters null": raw(dumps([*CATALOG, {"function": {"name": "f", "parameters": None}}])),
    "parameters odd": raw(
        dumps([*CATALOG, tool("f") | {"function": {"name": "f", "parameters": [1]}}])
    ),
    "properties odd": raw(TOOLS.replace(b'"properties": {', b'"properties": [], "p": {')),
    "required odd": raw(TOOLS.replace(b'"required": [', b'"required": {}, "r": [')),
    "types odd": raw(TOOLS.replace(b'"type": "string"', b'"type": [7, null], "enum": {}')),
    "description a number": raw(TOOLS.replace(b'"Current weather in a city."', b"7")),
    "messages empty": raw(messages=b"[]"),
    "messages of objects": raw(messages=b"[{}]"),
    "a role that is a number": raw(messages=b'[{"role":7,"content":{}}]'),
    "calls empty": raw(messages=b'[{"role":"assistant","tool_calls":[]}]'),
    "calls of nothing": raw(messages=b'[{"role":"assistant","tool_calls":[{}]}]'),
    "tool_choice a list": raw(rest=b',"tool_choice":["x"]'),
    "tool_choice odd": raw(rest=b',"tool_choice":{"type":7,"allowed_tools":[null]}'),
    "allowed_tools odd": raw(
        rest=b',"tool_choice":{"type":"allowed_tools","allowed_tools":{"tools":[7,{"type":[]}]}}'
    ),
    "stream a string": raw(rest=b',"stream":"yes"'),
    "stream_options a list": raw(rest=b',"stream_options":[1]'),
    "limit a string": raw(rest=b',"max_tokens":"x","max_completion_tokens":-5'),
    "n one": raw(rest=b',"n":1'),
    "n one point nought": raw(rest=b',"n":1.0'),
    "whitespace": b" \r\n\t" + raw() + b"\n ",
}


@pytest.mark.parametrize("place", ["auto", "system"])
@pytest.mark.parametrize("sent", UNDERSTOOD.values(), ids=UNDERSTOOD)
async def test_what_is_odd_is_folded_or_relayed_and_never_a_fault(sent: bytes, place: str) -> None:
    said = [reply(search("s1", "weather", "\\ud800 deep"), call("x", "nope")), reply("Done.")]
    script = [Raw(dumps(one), content_type="application/json") for one in said]
    async with start_proxy(*script, manifest_place=place) as proxy:
        response = await proxy.post(sent)

    assert response.status_code == 200
    if response.headers["x-toolfold-decision"] == "relayed":
        assert response.headers["x-toolfold-reason"]
        assert proxy.upstream.received[0].body == sent
    else:
        assert response.headers["x-toolfold-reason"] == "mode-on"
        assert blanked(proxy.upstream.received[0].body) == blanked(sent)
    assert response.headers["x-toolfold-reason"] != "internal-error"


def blanked(sent: bytes) -> bytes:
    """A body with what folding may change blanked out."""
    known = Body(sent)
    names = ("tools", "messages", "tool_choice")
    return known.splice({name: b"0" for name in names if name in known})


def faulty(count: int, **changes: Any) -> bytes:
    tools: list[Any] = numbered(count)
    for at, entry in changes.items():
        tools[int(at[1:])] = entry
    return dumps(request(tools))


REFUSED = {
    "duplicate names": (faulty(129, _100=numbered(1)[0]), "tools[100].function.name"),
    "no name": (faulty(129, _3={"type": "function", "function": {}}), "tools[3].function.name"),
    "a name that is a number": (
        faulty(129, _0={"type": "function", "function": {"name": 7}}),
        "tools[0].function.name",
    ),
    "not an object": (faulty(129, _128="get_weather"), "tools[128]"),
    "no function": (faulty(129, _7={"type": "function"}), "tools[7].function"),
    "several choices": (
        dumps(request([*numbered(129), numbered(1)[0]], n=2)),
        "tools[129].function.name",
    ),
}


@pytest.mark.parametrize(("sent", "param"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("mode", ["on", "auto"])
async def test_what_no_upstream_takes_is_refused_with_the_field(
    sent: bytes, param: str, mode: str
) -> None:
    async with start_proxy(reply("x"), mode=mode) as proxy:
        response = await proxy.post(sent)

    error = response.json()["error"]
    assert (response.status_code, error["type"]) == (400, "invalid_request_error")
    assert error.keys() == {"message", "type", "param", "code"}
    assert error["param"] == param
    assert f"`{param}`" in error["message"]
    assert proxy.upstream.received == []


@pytest.mark.parametrize("count", [129, 10_000])
async def test_more_tools_than_an_upstream_takes_are_folded(count: int) -> None:
    async with start_proxy(reply("x"), mode="auto") as proxy:
        response = await proxy.post(faulty(count))

    assert response.status_code == 200
    assert response.headers["x-toolfold-tools"] == f"1/{count}"
    assert len(proxy.upstream.received[0].body) < 60_000
