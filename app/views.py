"""What the command line prints: tables for people, JSON for programs."""

import json
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from app.core.hits import Hit
from app.settings import Settings

_MAY_HOLD_A_PASSWORD = ("redis_url",)

Found = Sequence[tuple[str, Sequence[Hit]]]
"""Queries with what they find."""


def print_json(value: Any) -> None:
    """Indented JSON on standard output."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def rankings_as_json(found: Found) -> list[dict[str, Any]]:
    """One object a query."""
    return [
        {"query": query, "tools": [{"name": name, "score": round(s, 3)} for name, s in hits]}
        for query, hits in found
    ]


def print_rankings(console: Console, found: Found) -> None:
    """One table a query."""
    for query, hits in found:
        table = Table("#", "tool", "score", title=escape(query), title_justify="left")
        for position, (name, score) in enumerate(hits, 1):
            table.add_row(str(position), escape(name), f"{score:.2f}")
        console.print(table if hits else f"{escape(query)}: no tool matches")


def print_findings(console: Console, findings: list[tuple[str, ...]]) -> None:
    """A line for each thing that was looked at."""
    colours = {"ok": "green", "warn": "yellow", "fail": "red"}
    for check, result, detail in findings:
        console.print(f"[{colours[result]}]{result:4}[/] {check}: {escape(detail)}", soft_wrap=True)


def print_plan(console: Console, plan: dict[str, Any]) -> None:
    """The decision, the tools with their rules, the tokens and the manifest."""
    console.print(f"[bold]{plan['decision']}[/]: {plan['reason']}")
    for name, field in plan["policy"].items():
        if field["from"] != "default":
            value = json.dumps(field["value"], ensure_ascii=False)
            console.print(escape(f"policy: {name} = {value} ({field['from']})"))
    if plan["tokens"] is None:
        return
    budgeted = ["in budget"] if "budgeted" in (plan["tools"] or [{}])[0] else []
    table = Table("tool", "exposure", "rule", "tokens", *budgeted)
    for column in table.columns[3:]:
        column.justify = "right"
    for tool in plan["tools"]:
        row = (escape(tool["name"] or "-"), tool["exposure"], escape(tool["rule"]))
        numbers = [tool["tokens"], *([tool["budgeted"]] if budgeted else [])]
        table.add_row(*row, *(f"{number:,}" for number in numbers))
    console.print(table)
    offered, sent = plan["tokens"]["offered"], plan["tokens"]["sent"]
    share = 1 - sent / offered if offered else 0
    for tool in plan["tools"]:
        if tool["findings"]:
            console.print(escape(f"odd text in {tool['name']}: {', '.join(tool['findings'])}"))
    console.print(f"tool tokens: {offered:,} offered, {sent:,} sent ({share:.0%} saved)")
    if "declared" in plan:
        _print_fold(console, plan)
    if plan["manifest"]:
        console.rule("what the model reads")
        console.print(escape(plan["manifest"]), highlight=False, soft_wrap=True)


def config_as_json(
    settings: Settings | None, problems: list[str], unknown: list[str]
) -> dict[str, Any]:
    """What is wrong, what is unknown, and the settings that are not the defaults, unless they may
    hold a password."""
    dumped = settings.model_dump(mode="json") if settings else {}
    changed = settings.model_fields_set if settings else ()
    return {
        "valid": not problems,
        "problems": problems,
        "unknown": [_guess(name) for name in unknown],
        "settings": {
            name: "**********" if name in _MAY_HOLD_A_PASSWORD and value else value
            for name, value in dumped.items()
            if name in changed
        },
    }


def _guess(variable: str) -> str:
    """A variable that is no setting, and the setting that was perhaps meant."""
    near = get_close_matches(variable.partition("_")[2].lower(), Settings.model_fields, 1)
    return f"{variable} is no setting" + (f": TOOLFOLD_{near[0].upper()}?" if near else "")


def print_config(console: Console, errors: Console, said: dict[str, Any]) -> None:
    """A table of what is set; what is wrong goes to the other console."""
    for colour, lines in (("red", said["problems"]), ("yellow", said["unknown"])):
        for line in lines:
            errors.print(f"[{colour}]toolfold:[/] {escape(line)}", soft_wrap=True, highlight=False)
    if said["settings"]:
        table = Table("setting", "value")
        for name, value in said["settings"].items():
            text = ",".join(value) if isinstance(value, list) else str(value)
            table.add_row(f"TOOLFOLD_{name.upper()}", escape(text))
        console.print(table)
    if said["valid"]:
        console.print("the settings are good; all others are the defaults")


def _print_fold(console: Console, plan: dict[str, Any]) -> None:
    table = Table("declared in the first round", "why")
    for tool in plan["declared"]:
        table.add_row(escape(tool["name"]), escape(tool["why"]))
    console.print(table)
    messages = plan["messages"]
    console.print(f"messages: {messages['client']} from the app, {messages['sent']} sent")
    for queries in messages["searches"]:
        console.print(f"put back: a search for {escape(', '.join(queries))}")
