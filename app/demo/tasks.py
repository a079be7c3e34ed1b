"""What the app wants done, and what a capable model would do about it.

The model plays a task's stages by this script, but only with the tools it is shown; the app plays
them on its desk to know the truth that the answer has to contain.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from app.core.codec import Json


@dataclass(frozen=True)
class Step:
    """One call of a tool."""

    tool: str
    arguments: Json
    """A value `$key` stands for what an earlier result calls `key`."""
    queries: tuple[str, ...]
    """What to type into a tool search, one phrase a try."""

    def of(self, **arguments: Any) -> "Step":
        """The same call about something else."""
        return replace(self, arguments=self.arguments | arguments)

    def filled(self, known: Json) -> Json:
        """The arguments, with earlier results in their places."""
        return {
            key: known.get(value[1:]) if str(value).startswith("$") else value
            for key, value in self.arguments.items()
        }


@dataclass(frozen=True)
class Task:
    """One request of a user."""

    title: str
    ask: str
    stages: tuple[tuple[Step, ...], ...] = ()
    """Stages follow each other; the steps of one stage are called in parallel."""
    words: str = ""
    """What the model knows to say by itself, where no tool is needed."""

    def truth(self, run: Callable[[str, Json], str]) -> list[str]:
        """What the answer has to hold: what the tools return when the task is done by hand, or
        the words of a plain answer."""
        if not self.stages:
            return [self.words]
        outputs: list[str] = []
        for stage in self.stages:
            known = facts(outputs)
            outputs += [run(step.tool, step.filled(known)) for step in stage]
        return outputs


def facts(outputs: list[str]) -> Json:
    """Everything that tool results say, under one roof; the latest word on a key counts."""
    known: Json = {}
    for output in outputs:
        try:
            result = json.loads(output)
        except ValueError:
            continue
        known |= result if isinstance(result, dict) else {}
    return known


BALANCE = Step(
    tool="ledger_get_balance",
    arguments={"account": "4100"},
    queries=("ledger account balance", "chart of accounts balance"),
)
FIND_PARCEL = Step(
    tool="parcel-find-by-order",
    arguments={"order": "SO-1042"},
    queries=("find parcel by sales order", "parcel tracking number for an order"),
)
TRACK_PARCEL = Step(
    tool="parcel-track-scans",
    arguments={"tracking_number": "$tracking_number"},
    queries=("track parcel latest scan", "tracking number depot scan"),
)
CONVERT = Step(
    tool="fxConvertAmount",
    arguments={"amount": 250, "source": "EUR", "target": "JPY"},
    queries=("convert amount between currencies", "exchange rate currency conversion"),
)
MEASURE = Step(
    tool="notes__measure_note",
    arguments={"note": "N-7"},
    queries=("count words of a note", "note word and sentence count"),
)

TASKS = (
    Task("one tool", "What is the balance of ledger account 4100?", ((BALANCE,),)),
    Task(
        "two in a row",
        "Where is the parcel for sales order SO-1042 right now?",
        ((FIND_PARCEL,), (TRACK_PARCEL,)),
    ),
    Task(
        "two at once",
        "How much is 250 EUR in JPY, and how many words does note N-7 have?",
        ((CONVERT, MEASURE),),
    ),
)
