"""An app's loop over the unmodified SDK, and whether its answer is right."""

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import openai

from app.core.codec import Json
from app.demo.client import SYSTEM
from app.demo.tasks import Task

_MOST_TURNS = 8
_TOLD = {
    "ledger_get_balance": "balance",
    "fxConvertAmount": "converted",
    "parcel-track-scans": "depot",
    "notes__measure_note": "words",
}
"""What of a tool's output the question asks for. The books behind it differ in every run, so an
answer that says it has run the tool."""
_NUMBER = re.compile(r"\d[\d,' \u00a0\u202f]*(?:\.\d+)?")

Run = Callable[[str, Json], str]


def solve(api: openai.OpenAI, model: str, task: Task, tools: list[Json], run: Run) -> str:
    """The answer to a task. Raises openai.APIError."""
    messages: list[Json] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": task.ask},
    ]
    create: Any = api.chat.completions.create
    for _ in range(_MOST_TURNS):
        said = create(model=model, messages=messages, tools=tools).choices[0].message
        calls = [call for call in said.tool_calls or [] if call.type == "function"]
        if not calls:
            return said.content or ""
        messages.append(said.model_dump(exclude_none=True))
        for call in calls:
            output = _output(call.function.name, call.function.arguments, run)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": output})
    return ""


def is_right(task: Task, answer: str, run: Run) -> bool:
    """Whether the answer says what the tools say. Numbers may be written in any way."""
    numbers = {_value(text) for text in _NUMBER.findall(answer)}
    return all(
        needle.casefold() in answer.casefold()
        if (value := _value(needle)) is None
        else value in numbers
        for needle in _needles(task, run)
    )


def _needles(task: Task, run: Run) -> Iterator[str]:
    names = [step.tool for stage in task.stages for step in stage]
    for name, output in zip(names, task.truth(run), strict=True):
        if name in _TOLD:
            yield str(json.loads(output)[_TOLD[name]])


def _value(text: str) -> Decimal | None:
    """The number that a text begins with, less its sign: `-1,234.50 EUR` is 1234.5."""
    found = _NUMBER.match(text.lstrip("-\u2212"))
    if found is None:
        return None
    return Decimal(re.sub(r"[^\d.]", "", found[0])).normalize()


def _output(name: str, arguments: str, run: Run) -> str:
    try:
        given = json.loads(arguments or "{}")
    except ValueError:
        return json.dumps({"error": "the arguments are not valid JSON"})
    if not isinstance(given, dict):
        return json.dumps({"error": "the arguments must be an object"})
    return run(name, given)
