"""An app's loop over a scripted conversation, and what makes a request valid."""

import json
from typing import Any

from app.core.codec import Json
from tests.builders import CATALOG, call, reply, search, tool
from tests.player import Framing, Played, Records, play
from tests.scripts import SIGNED, WEATHER_CALL, wrapped

TOOLS = [*CATALOG, tool("think")]


def deal(n: int) -> Json:
    return call(f"d{n}", "crm__read_deal", {"id": str(n)})


def real(step: Any, strategy: str) -> Any:
    """With `wrap` the model calls deferred tools through the wrapper."""
    if strategy == "promote" or not isinstance(step, dict):
        return step
    message = step["choices"][0]["message"]
    calls = message.get("tool_calls", [])
    through = [
        one
        if one["function"]["name"] in ("tool_search", "think")
        else {
            **one,
            **wrapped(one["id"], one["function"]["name"], json.loads(one["function"]["arguments"])),
        }
        for one in calls
    ]
    choice = {**step["choices"][0], "message": {**message, "tool_calls": through}}
    return {**step, "choices": [choice]} if calls else step


TURNS: list[list[Json]] = [
    [reply("Hello, what can I do?")],
    [reply("Let me look. ", search("s1", "weather")), reply(WEATHER_CALL)],
    [reply("It rains in Oslo.")],
    [reply(search("s2", "deal"), deal(1))],
    [reply(search("s3", "lead")), reply("There is nothing about that.")],
    [reply("Both. ", deal(2), search("s4", "campaign"), call("t1", "think"))],
    [reply("Done.")],
    [reply(search("s5", "nothing of the kind")), reply(search("s6", "refund")), reply("Done.")],
    [
        reply("Filing. ", call("w1", "github__create_issue", {})),
        reply("Filing. ", call("w2", "github__create_issue", {"repo": "r", "title": "t"})),
    ],
    [reply("Filed.")],
    [
        reply({**search("s7", "contact"), **SIGNED}, deal(3)),
    ],
    [reply("Bye.")],
]


class Client:
    """An app's loop: it keeps what it is told and nothing else."""

    def __init__(
        self,
        strategy: str,
        framing: Framing,
        records: Records | None,
        dialect: str = "native",
    ) -> None:
        self.messages: list[Json] = [{"role": "system", "content": "Be brief."}]
        self.strategy = strategy
        self.framing = framing
        self.records = records
        self.dialect = dialect

    def turn(self, number: int, replies: list[Json]) -> Played:
        if self.messages[-1]["role"] != "tool":
            self.messages.append({"role": "user", "content": f"Question {number}"})
        played = play(
            *(real(one, self.strategy) for one in replies),
            framing=self.framing,
            tools=TOOLS,
            policy={"strategy": self.strategy, "dialect": self.dialect},
            messages=self.messages,
            records=self.records,
        )
        assert played.failure is None
        message = {k: v for k, v in played.message.items() if k not in ("index",)}
        self.messages.append(message)
        for made in message.get("tool_calls", []):
            result = {
                "role": "tool",
                "tool_call_id": made["id"],
                "content": f"result of {made['id']}",
            }
            self.messages.append(result)
        return played


def is_valid(request: Json, made_up: frozenset[str] = frozenset()) -> None:
    """Every call is declared, once, and answered right behind it; ids are unique in a message.
    `made_up`: names of a model's own that stay where they are answered, or have left."""
    names = [entry["function"]["name"] for entry in request["tools"]]
    assert len(set(names)) == len(names)
    open_ids: list[str] = []
    for message in request["messages"]:
        if message["role"] == "tool":
            open_ids.remove(message["tool_call_id"])
            continue
        assert not open_ids
        calls = message.get("tool_calls") or []
        open_ids = [made["id"] for made in calls]
        assert len(set(open_ids)) == len(open_ids)
        assert {made["function"]["name"] for made in calls} <= {*names, *made_up}
    assert not open_ids
