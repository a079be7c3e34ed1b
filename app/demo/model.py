"""A scripted model: what a capable model would reply, decided from the request and nothing else.

It knows how each task is done (`tasks`), but it can only use what it is shown. A tool that is
declared gets called. One whose parameters a search has shown gets called through a tool that calls
others, if one is declared. For any other it searches, if it was given a search tool, until its
phrases run out. It calls nothing else, and it quotes what the tools returned.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from app.core.codec import Json
from app.demo.dialogue import DIALOGUE
from app.demo.tasks import TASKS, Step, Task, facts
from app.demo.view import Answered, Call, View, view

_EVERYTHING = (*TASKS, *DIALOGUE)


@dataclass(frozen=True)
class Reply:
    """Text or calls, and why the model stopped."""

    text: str | None = None
    calls: tuple[Call, ...] = ()
    finish_reason: str = "stop"


def reply(request: Json) -> Reply:
    """The model's reply to a request that the rules have admitted."""
    seen = view(request)
    task = next((task for task in _EVERYTHING if task.ask in seen.asked), None)
    steps = _pending(task, seen.results) if task else []
    limit = 1 if request.get("parallel_tool_calls") is False else None
    match request.get("tool_choice"):
        case "none":
            return Reply(_answer(task, seen, steps))
        case {"type": "function", "function": {"name": name}}:
            # OpenAI reports a named call as "stop": the model had no choice.
            return Reply(calls=(_forced(name, seen, steps),))
        case "required" | {"allowed_tools": {"mode": "required"}}:
            calls = _calls(seen, steps) or (_forced(next(reversed(seen.declared)), seen, steps),)
        case _:
            calls = _calls(seen, steps)
    if not calls:
        return Reply(_answer(task, seen, steps))
    return Reply(calls=calls[:limit], finish_reason="tool_calls")


def _calls(seen: View, steps: Sequence[Step]) -> tuple[Call, ...]:
    """Search for what cannot be called, as long as that may help; then call what can."""
    hidden = [step for step in steps if not seen.can_call(step.tool)]
    queries = [query for step in hidden if (query := _untried(step, seen.searches))]
    if seen.search and queries:
        return (_searching(seen.search, seen.declared[seen.search], queries),)
    return tuple(_calling(step, seen) for step in steps if seen.can_call(step.tool))


def _forced(name: str, seen: View, steps: Sequence[Step]) -> Call:
    """A call of the one tool that may be called, with the best arguments at hand."""
    if name == seen.search:
        queries = [query for step in steps if (query := _untried(step, seen.searches))]
        return _searching(name, seen.declared[name], queries or [seen.asked])
    everything = (step for task in _EVERYTHING for stage in task.stages for step in stage)
    for step in (*steps, *everything):
        if step.tool == name or (name == seen.wrapper and step.tool in seen.shown):
            return _calling(step, seen)
    return Call(name, "{}")


def _calling(step: Step, seen: View) -> Call:
    arguments = step.filled(facts([one.output for one in seen.results]))
    if step.tool in seen.declared or seen.wrapper is None:
        return Call(step.tool, json.dumps(arguments))
    return Call(seen.wrapper, json.dumps({"name": step.tool, "arguments": arguments}))


def _searching(name: str, function: Json, queries: list[str]) -> Call:
    properties = function.get("parameters", {}).get("properties", {})
    several = "queries" in properties
    return Call(name, json.dumps({"queries": queries} if several else {"query": " ".join(queries)}))


def _untried(step: Step, searches: Sequence[Answered]) -> str | None:
    """The first of a step's phrases that no search has used yet."""
    tried = "\n".join(search.call.arguments for search in searches)
    return next((query for query in step.queries if query not in tried), None)


def _pending(task: Task, results: Sequence[Answered]) -> list[Step]:
    """The steps of the first stage that is not finished."""
    done = {one.call.name for one in results}
    for stage in task.stages:
        steps = [step for step in stage if step.tool not in done]
        if steps:
            return steps
    return []


def _answer(task: Task | None, seen: View, steps: Sequence[Step]) -> str:
    if task and task.words:
        return task.words
    said = [f"{one.call.name} returned {one.output}" for one in seen.results]
    said += [f"I have no tool for this: {step.queries[0]}." for step in steps]
    return "\n".join(said) or "I can only help with the tasks of this demonstration."
