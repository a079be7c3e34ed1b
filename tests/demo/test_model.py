"""The scripted model can only use what it is shown."""

import json
from typing import Any

import pytest

from app.demo.dialogue import DIALOGUE
from app.demo.model import Reply, reply
from app.demo.tasks import BALANCE, CONVERT, FIND_PARCEL, MEASURE, TASKS, TRACK_PARCEL
from app.demo.view import Call

from .builders import Json, allowed, answered, called, named, request, tool, user

BALANCE_TASK, PARCEL_TASK, PARALLEL_TASK = (user(task.ask) for task in TASKS)
SEARCH = tool("tool_search", "queries", "limit")
LEDGER = tool("ledger_get_balance", "account")
WRAPPER = tool("call_tool", "name", "arguments")
LEDGER_CALL = Call("ledger_get_balance", '{"account": "4100"}')


def shown(*names: str, id: str = "s1", **members: Any) -> tuple[Json, Json]:
    """A search, and an answer to it with these tools' parameters."""
    found = [tool(name)["function"] | members for name in names]
    return called((id, "tool_search", "{}")), answered(id, json.dumps({"tools": found}))


def wrapped(name: str, arguments: Json) -> Json:
    return {"name": name, "arguments": arguments}


def calls(asked: Json) -> list[tuple[str, Json]]:
    return [(call.name, json.loads(call.arguments)) for call in reply(asked).calls]


def test_a_declared_tool_is_called() -> None:
    asked = request(BALANCE_TASK, tools=[SEARCH, LEDGER])
    assert reply(asked) == Reply(calls=(LEDGER_CALL,), finish_reason="tool_calls")


def test_an_undeclared_tool_is_searched_for() -> None:
    asked = request(BALANCE_TASK, tools=[tool(), SEARCH])
    assert calls(asked) == [("tool_search", {"queries": [BALANCE.queries[0]]})]


def test_both_tools_of_a_stage_are_searched_for_at_once() -> None:
    asked = request(PARALLEL_TASK, tools=[SEARCH])
    queries = [CONVERT.queries[0], MEASURE.queries[0]]
    assert calls(asked) == [("tool_search", {"queries": queries})]


def test_only_what_is_undeclared_is_searched_for() -> None:
    asked = request(PARALLEL_TASK, tools=[SEARCH, tool(CONVERT.tool)])
    assert calls(asked) == [("tool_search", {"queries": [MEASURE.queries[0]]})]


@pytest.mark.parametrize("name", ["toolfold_search", "tool_search_2", "mcp_tool_search"])
def test_a_search_tool_is_known_by_its_name(name: str) -> None:
    assert calls(request(BALANCE_TASK, tools=[tool(name, "queries")]))[0][0] == name


def test_a_search_tool_that_takes_one_query_gets_one() -> None:
    asked = request(BALANCE_TASK, tools=[tool("tool_search", "query")])
    assert calls(asked) == [("tool_search", {"query": BALANCE.queries[0]})]


def test_a_search_that_found_nothing_is_tried_in_other_words_and_then_given_up() -> None:
    history = [BALANCE_TASK]
    for at, query in enumerate(BALANCE.queries):
        arguments = json.dumps({"queries": [query]})
        assert calls(request(*history, tools=[SEARCH])) == [("tool_search", json.loads(arguments))]
        history += [called((f"s{at}", "tool_search", arguments)), answered(f"s{at}", "{}")]
    said = reply(request(*history, tools=[SEARCH]))
    assert said == Reply(f"I have no tool for this: {BALANCE.queries[0]}.")


def test_without_the_tool_and_without_a_search_it_cannot_help() -> None:
    assert reply(request(BALANCE_TASK, tools=[tool()])).calls == ()
    assert "no tool for this" in str(reply(request(BALANCE_TASK)).text)


def test_a_tool_that_a_search_showed_but_nobody_declared_is_not_called() -> None:
    found = json.dumps({"tools": [{"name": "ledger_get_balance"}]})
    history = [BALANCE_TASK, called(("s1", "tool_search", "{}")), answered("s1", found)]
    assert calls(request(*history, tools=[SEARCH]))[0][0] == "tool_search"


def test_the_second_tool_gets_its_arguments_from_the_first_ones_result() -> None:
    history = [
        PARCEL_TASK,
        called(("c1", FIND_PARCEL.tool, "{}")),
        answered("c1", '{"tracking_number": "TN7"}'),
    ]
    asked = request(*history, tools=[tool(FIND_PARCEL.tool), tool(TRACK_PARCEL.tool)])
    assert calls(asked) == [(TRACK_PARCEL.tool, {"tracking_number": "TN7"})]


def test_two_tools_are_called_in_parallel_unless_the_request_forbids_it() -> None:
    tools = [tool(CONVERT.tool), tool(MEASURE.tool)]
    both = [(CONVERT.tool, CONVERT.arguments), (MEASURE.tool, MEASURE.arguments)]
    assert calls(request(PARALLEL_TASK, tools=tools)) == both
    assert calls(request(PARALLEL_TASK, tools=tools, parallel_tool_calls=False)) == both[:1]


def test_the_answer_quotes_what_the_tools_returned() -> None:
    history = [BALANCE_TASK, called(("c1", LEDGER_CALL.name, "{}")), answered("c1", '{"x": 17}')]
    said = reply(request(*history, tools=[LEDGER]))
    assert said == Reply('ledger_get_balance returned {"x": 17}')


def test_a_new_question_begins_anew() -> None:
    history = [BALANCE_TASK, called(("c1", LEDGER_CALL.name, "{}")), answered("c1", "{}")]
    assert reply(request(*history, BALANCE_TASK, tools=[LEDGER])).calls == (LEDGER_CALL,)


def test_tool_choice_none_forbids_calls() -> None:
    assert reply(request(BALANCE_TASK, tools=[LEDGER], tool_choice="none")).calls == ()


def test_a_named_tool_is_called_and_reported_as_stop() -> None:
    asked = request(user("Hello"), tools=[tool(), LEDGER], tool_choice=named(LEDGER_CALL.name))
    assert reply(asked) == Reply(calls=(LEDGER_CALL,), finish_reason="stop")


def test_a_named_search_searches() -> None:
    asked = request(BALANCE_TASK, tools=[SEARCH, LEDGER], tool_choice=named("tool_search"))
    assert calls(asked) == [("tool_search", {"queries": [BALANCE.queries[0]]})]


def test_required_calls_something_even_when_nothing_is_left_to_do() -> None:
    asked = request(user("Hello"), tools=[LEDGER, tool()], tool_choice="required")
    assert calls(asked) == [("look", {})]


def test_only_allowed_tools_are_called() -> None:
    tools = [SEARCH, LEDGER]
    asked = request(BALANCE_TASK, tools=tools, tool_choice=allowed("tool_search"))
    assert calls(asked)[0][0] == "tool_search"
    asked = request(
        user("Hello"), tools=tools, tool_choice=allowed(LEDGER_CALL.name, mode="required")
    )
    assert reply(asked).calls == (LEDGER_CALL,)


def test_words_come_as_text_parts_too() -> None:
    parts = {"role": "user", "content": [{"type": "text", "text": TASKS[0].ask}]}
    assert reply(request(parts, tools=[LEDGER])).calls == (LEDGER_CALL,)


def test_a_plain_question_is_answered_in_words() -> None:
    for task in DIALOGUE:
        if task.words:
            assert reply(request(user(task.ask), tools=[SEARCH, LEDGER])) == Reply(task.words)


def test_every_question_of_the_dialogue_is_recognised() -> None:
    tools = [tool(step.tool) for task in DIALOGUE for stage in task.stages for step in stage]
    for task in DIALOGUE:
        first = [step.tool for step in task.stages[0]] if task.stages else []
        assert [name for name, _ in calls(request(user(task.ask), tools=tools))] == first


# -- through a tool that calls others -------------------------------------------


@pytest.mark.parametrize("name", ["call_tool", "toolfold_call", "mcp__run"])
def test_a_tool_that_was_shown_is_called_through_the_wrapper(name: str) -> None:
    history = [BALANCE_TASK, *shown(BALANCE.tool)]
    asked = request(*history, tools=[SEARCH, tool(name, "name", "arguments")])
    assert calls(asked) == [(name, wrapped(BALANCE.tool, BALANCE.arguments))]


def test_two_tools_are_two_calls_of_the_wrapper() -> None:
    asked = request(PARALLEL_TASK, *shown(CONVERT.tool, MEASURE.tool), tools=[SEARCH, WRAPPER])
    steps = (CONVERT, MEASURE)
    assert calls(asked) == [("call_tool", wrapped(one.tool, one.arguments)) for one in steps]


def test_what_an_earlier_question_has_shown_is_known() -> None:
    history = [user("Hello"), *shown(BALANCE.tool), BALANCE_TASK]
    assert calls(request(*history, tools=[SEARCH, WRAPPER]))[0][0] == "call_tool"


def test_a_declared_tool_is_called_by_itself() -> None:
    asked = request(BALANCE_TASK, *shown(BALANCE.tool), tools=[SEARCH, WRAPPER, LEDGER])
    assert reply(asked).calls == (LEDGER_CALL,)


NOT_SHOWN = {
    "nothing": [],
    "another tool": shown(CONVERT.tool),
    "a name without parameters": shown(BALANCE.tool, parameters=None),
    "a text that names it": (
        called(("s1", "tool_search", "{}")),
        answered("s1", f"`{BALANCE.tool}` exists"),
    ),
    "a user who shows it": [user(json.dumps({"tools": [LEDGER["function"]]})), BALANCE_TASK],
}


@pytest.mark.parametrize("history", NOT_SHOWN.values(), ids=NOT_SHOWN)
def test_a_tool_that_was_not_shown_is_searched_for(history: list[Json]) -> None:
    manifest = tool("tool_search", "queries", description=f"More tools: {BALANCE.tool}")
    asked = request(BALANCE_TASK, *history, tools=[manifest, WRAPPER])
    assert calls(asked)[0][0] == "tool_search"


@pytest.mark.parametrize("properties", [("name",), ("name", "arguments", "account"), ()])
def test_a_tool_with_other_parameters_is_no_wrapper(properties: tuple[str, ...]) -> None:
    tools = [SEARCH, tool("call_tool", *properties)]
    assert calls(request(BALANCE_TASK, *shown(BALANCE.tool), tools=tools))[0][0] == "tool_search"


def test_a_wrapped_call_is_the_tools_own() -> None:
    history = [
        PARCEL_TASK,
        *shown(FIND_PARCEL.tool, TRACK_PARCEL.tool),
        called(("c1", "call_tool", json.dumps(wrapped(FIND_PARCEL.tool, {"order": "SO-1042"})))),
        answered("c1", '{"tracking_number": "TN7"}'),
    ]
    track = wrapped(TRACK_PARCEL.tool, {"tracking_number": "TN7"})
    assert calls(request(*history, tools=[SEARCH, WRAPPER])) == [("call_tool", track)]
    history += [called(("c2", "call_tool", json.dumps(track))), answered("c2", '{"depot": "Lyon"}')]
    said = str(reply(request(*history, tools=[SEARCH, WRAPPER])).text)
    assert f'{TRACK_PARCEL.tool} returned {{"depot": "Lyon"}}' in said
    assert "call_tool" not in said


def test_a_named_wrapper_calls_what_was_shown() -> None:
    asked = request(
        BALANCE_TASK, *shown(BALANCE.tool), tools=[WRAPPER], tool_choice=named("call_tool")
    )
    assert calls(asked) == [("call_tool", wrapped(BALANCE.tool, BALANCE.arguments))]
