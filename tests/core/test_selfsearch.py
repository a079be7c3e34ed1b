import pytest

from app.core.selfsearch import has_loaded, is_search
from app.core.tools import parse
from tests.builders import dumps, tool

TOOLS = {
    ("tool_search", "Search for tools."): True,
    ("ToolSearch", "Fetches deferred tools"): True,
    ("tool-search", "Loads a function"): True,
    ("search_tools", "Finds a tool."): True,
    ("find_tools", "Finds tools."): True,
    ("tool_search", "Search the toolshed"): False,
    ("tool_search", ""): False,
    ("search", "Search for tools."): False,
    ("my_tool_search", "Search for tools."): False,
}


@pytest.mark.parametrize(("named", "searches"), TOOLS.items())
def test_a_search_for_tools(named: tuple[str, str], searches: bool) -> None:
    assert is_search(parse(dumps(tool(*named)), 0)) == searches


MESSAGES = {
    b'[{"content":[{"type":"tool_reference","name":"a"}]}]': True,
    b'[{"content":[{"type" : "tool_search_output"}]}]': True,
    b'[{"content":"{\\"type\\":\\"tool_reference\\"}"}]': False,
    b'[{"content":"tool_reference"}]': False,
    b"[]": False,
}


@pytest.mark.parametrize(("messages", "loaded"), MESSAGES.items())
def test_messages_in_which_tools_were_loaded(messages: bytes, loaded: bool) -> None:
    assert has_loaded(messages) == loaded
