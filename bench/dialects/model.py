"""Twelve tasks with a real model: does the app get the call that it needs?

Each task is one request of an app with twelve tools. Counted are the replies that hold a call,
the right tool, and arguments that say what was asked.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import openai

from app.core.codec import Json
from app.demo.proxy import toolfold

WAYS = {"eager": "off", "folded": "on"}
DIALECTS = ("native", "json_tag", "pformat")
_SECONDS = 900
_MOST_TOKENS = 160


@dataclass(frozen=True)
class _Task:
    ask: str
    tool: str
    purpose: str
    arguments: dict[str, str | int]

    @property
    def declaration(self) -> Json:
        kinds = {str: "string", int: "integer"}
        properties = {name: {"type": kinds[type(v)]} for name, v in self.arguments.items()}
        parameters = {"type": "object", "properties": properties, "required": list(properties)}
        function = {"name": self.tool, "description": self.purpose, "parameters": parameters}
        return {"type": "function", "function": function}


def _task(ask: str, tool: str, purpose: str, **arguments: str | int) -> _Task:
    return _Task(ask, tool, purpose, arguments)


TASKS = (
    _task("What is the weather in Oslo now?", "get_weather", "Weather in a city.", city="Oslo"),
    _task(
        "How many yen are 250 euros?",
        "convert_currency",
        "Convert an amount of money between currencies.",
        amount=250,
        source="EUR",
        target="JPY",
    ),
    _task(
        "Open an issue 'login broken' in acme/web.",
        "create_issue",
        "Create an issue in a repository.",
        repo="acme/web",
        title="login broken",
    ),
    _task(
        "Mail bob@example.org: subject hi, text hello.",
        "send_email",
        "Send an email.",
        to="bob@example.org",
        subject="hi",
        text="hello",
    ),
    _task(
        "What does a share of MSFT cost?",
        "stock_price",
        "Latest price of a stock by its ticker.",
        ticker="MSFT",
    ),
    _task(
        "Put 'dentist' into my calendar on 2030-12-01.",
        "add_event",
        "Add an event to the calendar.",
        title="dentist",
        date="2030-12-01",
    ),
    _task(
        "Translate 'good morning' into French.",
        "translate_text",
        "Translate a text into another language.",
        text="good morning",
        language="French",
    ),
    _task("Delete the file /tmp/a.txt.", "delete_file", "Delete a file.", path="/tmp/a.txt"),
    _task("Play Miles Davis.", "play_music", "Play a song or an artist.", query="Miles Davis"),
    _task("Wake me at 07:15.", "set_alarm", "Set an alarm clock.", time="07:15"),
    _task(
        "Fetch the page http://localhost/doc for me.",
        "fetch_page",
        "Fetch a web page.",
        url="http://localhost/doc",
    ),
    _task(
        "Count the words of 'one two three' with a tool.",
        "count_words",
        "Count the words of a text.",
        text="one two three",
    ),
)


@dataclass
class Row:
    """What came of the tasks in one dialect and one way."""

    dialect: str
    way: str
    tasks: int = 0
    calls: int = 0
    tools: int = 0
    arguments: int = 0

    def __str__(self) -> str:
        counts = (
            f"{self.calls:>3} calls {self.tools:>3} right tools {self.arguments:>3} right arguments"
        )
        return f"{self.dialect:<9} {self.way:<7} of {self.tasks}: {counts}"


def rows(url: str, model: str, tasks: int) -> Iterator[Row]:
    """Ask for the first so many tasks in every dialect, eagerly and folded."""
    for way, mode in WAYS.items():
        for dialect in DIALECTS:
            flags = ("--dialect", dialect, "--mode", mode, "--read-timeout", str(_SECONDS))
            with toolfold(url, *flags) as own:
                yield _row(Row(dialect, way), own, model, TASKS[:tasks])


def _row(row: Row, url: str, model: str, tasks: tuple[_Task, ...]) -> Row:
    api = openai.OpenAI(base_url=url, api_key="none", max_retries=0, timeout=_SECONDS)
    create: Any = api.chat.completions.create
    for task in tasks:
        row.tasks += 1
        try:
            message = (
                create(
                    model=model,
                    messages=[{"role": "user", "content": task.ask}],
                    tools=[one.declaration for one in TASKS],
                    temperature=0,
                    max_tokens=_MOST_TOKENS,
                )
                .choices[0]
                .message
            )
        except openai.APIError:
            continue  # some servers answer 500 to what their own model wrote
        if calls := message.tool_calls:
            row.calls += 1
            row.tools += calls[0].function.name == task.tool
            row.arguments += _says(calls[0].function, task)
    return row


def _says(function: Any, task: _Task) -> bool:
    try:
        given = json.loads(function.arguments)
    except ValueError:
        return False
    wanted = {name: str(value).casefold() for name, value in task.arguments.items()}
    return (
        function.name == task.tool
        and isinstance(given, dict)
        and ({name: str(value).casefold() for name, value in given.items()} == wanted)
    )
