"""A request in a dialect, read back into the request that it was. Written without the code
that wrote it, so that the two are held against each other."""

import json
import re
from typing import Any

Json = dict[str, Any]

_BLOCK = re.compile(r"(?:\A|\n\n)# Tools\n\nYou can call.*?<tools>\n(.*?)\n</tools>(.*)\Z", re.S)
_ANSWER = re.compile(r"which fits this schema: (\{.*?\})\n\n<tools>", re.S)
_CALL = re.compile(r"\n?<tool_call>(.*?)</tool_call>", re.S)
_RESULT = re.compile(
    r'<tool_result name="([^"]*)" tool_call_id="([^"]*)">\n(.*?)\n</tool_result>', re.S
)
_POSITIONAL = re.compile(r"([\w./:-]+)\[(.*)\]\Z", re.S)
_SIGNATURE = re.compile(r"([\w./:-]+)([\[{])(.*?)([\]}])(?:: (.*))?\Z")
_MEMBER = re.compile(r"([^:|,]+): ((?:\{[^}]*\}|[^|,{])+)")
_REFUSED = ("tools", "tool_choice", "parallel_tool_calls", "functions")
_ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&"))


class Refused(Exception):
    """A request that a server which only knows text does not take."""


class Spoken:
    """The tools of a request, and how calls of them are written."""

    def __init__(self, listing: str, dialect: str) -> None:
        self.dialect = dialect
        self.tools: list[Json] = []
        self.order: dict[str, list[str]] = {}
        """Names of the arguments by position, for the tools that are called so."""
        if dialect == "json_tag":
            self.tools = [_declared(json.loads(line)) for line in listing.splitlines()]
            return
        for line in listing.splitlines():
            if not line.startswith(" "):
                self._sign(line)

    def _sign(self, line: str) -> None:
        signature = _SIGNATURE.match(line)
        assert signature is not None, line
        name, opening, inside, _, described = signature.groups()
        members = _MEMBER.findall(inside)
        properties = {key.strip().rstrip("?"): _schema(kind.strip()) for key, kind in members}
        required = [key.strip() for key, _ in members if not key.endswith("?")]
        if opening == "[":
            self.order[name] = list(properties)
        parameters = {"type": "object", "properties": properties, "required": required}
        described = described or ""
        function = {"name": name, "description": described, "parameters": parameters}
        self.tools.append(_declared(function))

    def call(self, body: str) -> tuple[str, str]:
        """The name and the arguments of a call in the history."""
        if positional := _POSITIONAL.match(body):
            name, inside = positional.groups()
            values = re.findall(r"((?:\\[|\]\\]|[^|])*)(?:\||\Z)", inside)
            texts = [re.sub(r"\\([|\]\\])", r"\1", value) for value in values]
            names = self.order.get(name, [])
            given = {key: _value(text) for key, text in zip(names, texts, strict=False) if text}
            return name, json.dumps(given)
        call = json.loads(body)
        return call["name"], json.dumps(call["arguments"], ensure_ascii=False)


def read_back(request: Json, dialect: str) -> tuple[Json, Spoken]:
    """The request with tools. Raises Refused."""
    if refused := [name for name in _REFUSED if name in request]:
        raise Refused(f"This server only knows text: {', '.join(refused)}")
    messages = list(request["messages"])
    spoken, members = Spoken("", "json_tag"), {}
    spoken.dialect = dialect
    for at, message in enumerate(messages):
        if message["role"] not in ("system", "developer"):
            continue
        text, cut = _text(message["content"]), None
        if cut := _BLOCK.search(text):
            spoken = Spoken(cut[1], dialect)
            members = _members(text, cut[2], spoken.tools)
            kept = text[: cut.start()]
            messages[at : at + 1] = [{**message, "content": kept}] if kept else []
            break
    restored = [one for message in messages for one in _restored(message, spoken)]
    return {**request, **members, "messages": _identified(restored)}, spoken


def _members(text: str, behind: str, tools: list[Json]) -> Json:
    members: Json = {"tools": tools}
    if "Make one call at most" in text:
        members["parallel_tool_calls"] = False
    if answer := _ANSWER.search(text):
        shape = {"name": "answer", "schema": json.loads(answer[1])}
        members["response_format"] = {"type": "json_schema", "json_schema": shape}
    elif "answer with one JSON value" in text:
        members["response_format"] = {"type": "json_object"}
    names = re.findall(r"`([^`]+)`", behind)
    required = "must call" in behind
    if "only these tools" in behind:
        allowed = [{"type": "function", "function": {"name": name}} for name in names]
        mode = "required" if required else "auto"
        inner = {"mode": mode, "tools": allowed}
        members["tool_choice"] = {"type": "allowed_tools", "allowed_tools": inner}
    elif required and names:
        members["tool_choice"] = {"type": "function", "function": {"name": names[0]}}
    elif required:
        members["tool_choice"] = "required"
    return members


def _restored(message: Json, spoken: Spoken) -> list[Json]:
    for name in ("tool_calls", "tool_call_id"):
        if name in message or message["role"] == "tool":
            raise Refused(f"This server only knows text: {name}")
    text = _text(message["content"])
    if message["role"] == "user" and text.startswith("<tool_result "):
        return [
            {"role": "tool", "tool_call_id": _plain(identifier), "content": _unquoted(body)}
            for _, identifier, body in _RESULT.findall(text)
        ]
    bodies = _CALL.findall(text) if message["role"] == "assistant" else []
    if not bodies:
        return [message]
    calls = [_called(*spoken.call(body)) for body in bodies]
    words = _CALL.sub("", text)
    return [{**message, "content": words or None, "tool_calls": calls}]


def _identified(messages: list[Json]) -> list[Json]:
    """Calls get the ids of their results, which follow in any order."""
    for at, message in enumerate(messages):
        results: list[Json] = []
        for one in messages[at + 1 :]:
            if one["role"] != "tool":
                break
            results.append(one)
        for call, answered in zip(message.get("tool_calls", []), results, strict=False):
            call["id"] = answered["tool_call_id"]
    return messages


def _declared(function: Json) -> Json:
    return {"type": "function", "function": function}


def _called(name: str, arguments: str) -> Json:
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def _schema(kind: str) -> Json:
    if kind.endswith("[]"):
        return {"type": "array", "items": {"type": "string"}}
    if kind.startswith("{"):
        inner = {
            key.strip().rstrip("?"): _schema(one.strip())
            for key, one in (member.split(":", 1) for member in kind[1:-1].split(",") if member)
        }
        return {"type": "object", "properties": inner}
    known = ("string", "integer", "number", "boolean", "object")
    if kind in known:
        return {"type": kind}
    return {"enum": [json.loads(one) for one in kind.split(" or ")]} if kind[0] == '"' else {}


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content if isinstance(content, str) else ""


def _plain(value: str) -> str:
    for escaped, plain in _ESCAPES:
        value = value.replace(escaped, plain)
    return value


def _unquoted(body: str) -> str:
    return re.sub("&lt;(?=[|/ ]*tool)", "<", body)
