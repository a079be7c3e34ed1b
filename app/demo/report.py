"""What the demo prints: a table for each catalog and, in words, what the table shows."""

from collections.abc import Sequence

from rich import box
from rich.table import Table

from app.demo.conversation import Conversation
from app.demo.measure import Comparison, Run, prompt_tokens, requests

GOAL = 0.85
"""Share of the first request's prompt tokens that folding has to save for the large catalog."""
_WORTHWHILE = 0.5

_WORDS = ("\n\ntask", "\n\nreply", "\n\ntoolfold")
_NUMBERS = (
    "\ntools\ndeclared",
    "\nbytes of\nrequest 1",
    "prompt\ntokens of\nrequest 1",
    "prompt\ntokens of\nwhole task",
    "\nupstream\nrequests",
)

OPENING = (
    "Toolfold and a scripted model, both on this machine: no key, no network. The model can use "
    "only what it is shown, and the upstream refuses what OpenAI refuses. An app drives them with "
    "the real `openai` SDK and runs its tools here. The rows `without` go straight to the "
    "upstream, the rows `with` go through Toolfold, and every number is what the upstream got. "
    "This shows what folding saves. It does not show how well a real model searches."
)


def over_limit(size: int, refusal: str) -> str:
    """Why the large catalog needs an exception to be measured without Toolfold."""
    return (
        f"Sent straight to the upstream, {size} tools are refused: {refusal} "
        "Toolfold's requests stay under that limit. For the rows `without` it is lifted."
    )


def table(comparison: Comparison) -> Table:
    """Two rows for each task and framing: without Toolfold, and with it."""
    sheet = Table(title=f"A catalog of {comparison.size} tools", title_justify="left")
    sheet.box, sheet.collapse_padding, sheet.pad_edge = box.SIMPLE_HEAD, True, False
    for heading in _WORDS:
        sheet.add_column(heading, no_wrap=True)
    for heading in _NUMBERS:
        sheet.add_column(heading, no_wrap=True, justify="right")
    sheet.add_column("\n\nanswer", no_wrap=True)
    for plain, folded in comparison.pairs:
        title, framing = ("", "streamed") if plain.stream else (plain.task.title, "buffered")
        sheet.add_row(title, framing, "without", *_cells(plain))
        sheet.add_row("", "", "with", *_cells(folded))
    return sheet


def conclusion(comparison: Comparison) -> str:
    """What the table shows, in numbers that come from it."""
    runs = (*comparison.plain, *comparison.folded)
    right = sum(run.right for run in runs)
    answers = f"{right} of {len(runs)} answers contain what the tools really returned."
    return f"{_judgement(comparison)} {answers}"


def verdict(
    large: Comparison, *others: Comparison, conversations: Sequence[Conversation] = ()
) -> str:
    """Whether the demo succeeded, and if not, why."""
    failures = [
        f"with {one.size} tools some answers are wrong" for one in (large, *others) if not one.right
    ]
    failures += [
        f"in the conversation with `{one.way}` some answers are wrong"
        for one in conversations
        if not one.right
    ]
    if large.first_saving < GOAL:
        failures.append(f"{large.first_saving:.1%} saved, and the goal is {GOAL:.0%}")
    if failures:
        return f"Failed: {'; '.join(failures)}."
    return f"Goal met: at least {GOAL:.0%} off the first request, and every answer right."


def succeeded(
    large: Comparison, *others: Comparison, conversations: Sequence[Conversation] = ()
) -> bool:
    """What the exit code says."""
    met = large.first_saving >= GOAL and all(one.right for one in (large, *others))
    return met and all(one.right for one in conversations)


def change(saving: float) -> str:
    """A share that is saved, in words."""
    return f"{abs(saving):.0%} {'fewer' if saving >= 0 else 'more'}"


def _judgement(comparison: Comparison) -> str:
    if comparison.untouched:
        return (
            f"Folding does nothing here. Toolfold found {comparison.size} such tools not worth a "
            "search and passed every request on at its original size."
        )
    plain, folded = comparison.plain, comparison.folded
    return (
        f"{_worth(comparison.task_saving)} The first request has "
        f"{change(comparison.first_saving)} prompt tokens. All tasks together take "
        f"{prompt_tokens(folded):,} instead of {prompt_tokens(plain):,}, "
        f"{change(comparison.task_saving)}, with search rounds counted and prompt caching left "
        f"out. The price is time: {requests(folded)} upstream requests instead of "
        f"{requests(plain)}."
    )


def _worth(saving: float) -> str:
    if saving <= 0:
        return "Folding costs more than it saves here."
    return "Folding pays here." if saving >= _WORTHWHILE else "Folding does little here."


def _cells(run: Run) -> tuple[str, ...]:
    first, last = run.records[0], run.records[-1]
    grown = f" to {last.tools}" if last.tools != first.tools else ""
    return (
        f"{first.tools}{grown}",
        f"{first.size:,}",
        f"{first.prompt_tokens:,}",
        f"{run.prompt_tokens:,}",
        str(len(run.records)),
        "right" if run.right else "WRONG",
    )
