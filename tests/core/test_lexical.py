import pytest

from app.core.ranking.lexical import Index
from app.core.tools import Tool, parse
from tests.builders import CATALOG, dumps, tool

TOOLS = [parse(dumps(entry), at) for at, entry in enumerate(CATALOG)]


def best(query: str, tools: list[Tool] = TOOLS) -> list[str]:
    return [tools[position].name for position, _ in Index(tools).rank(query)]


FINDS = {
    "words of the name": ("create issue", "github__create_issue"),
    "words of the description": ("money back", "stripe__refund_payment"),
    "a property": ("cents", "stripe__refund_payment"),
    "another form": ("refunding payments", "stripe__refund_payment"),
    "chatter around it": ("can you please get me the weather", "get_weather"),
    "the name": ("github__create_issue", "github__create_issue"),
    "the name in camel case": ("getWeather", "get_weather"),
    "the name with other separators": ("Stripe Refund-Payment", "stripe__refund_payment"),
}


@pytest.mark.parametrize(("query", "name"), FINDS.values(), ids=FINDS)
def test_a_query_finds_its_tool_first(query: str, name: str) -> None:
    assert best(query)[0] == name


@pytest.mark.parametrize("count", [1, 2])
def test_a_catalog_of_one_or_two_has_a_ranking(count: int) -> None:
    assert best("weather", TOOLS[:count]) == ["get_weather"]


def test_an_exact_name_comes_before_a_better_text() -> None:
    tools = [tool("find", "find find file"), tool("find_file", "x"), tool("file_find_file", "find")]
    parsed = [parse(dumps(entry), at) for at, entry in enumerate(tools)]
    assert best("find_file", parsed)[0] == "find_file"


def test_the_tool_whose_whole_name_is_said_comes_first() -> None:
    names = ["create_issue_comment_reaction", "create_issue"]
    parsed = [parse(dumps(tool(name, "")), at) for at, name in enumerate(names)]
    assert best("create issue", parsed)[0] == "create_issue"


def test_enum_values_and_nested_properties_are_read() -> None:
    entry = tool("send", "")
    entry["function"]["parameters"]["properties"] = {
        "to": {"type": "object", "properties": {"carrier": {"enum": ["pigeon", 1]}}}
    }
    tools = [parse(dumps(entry), 0), *TOOLS]
    assert best("pigeon", tools) == ["send"]
    assert best("carrier", tools) == ["send"]


def test_ties_keep_the_order_of_the_catalog() -> None:
    assert best("read contact")[0] == "crm__read_contact"
    twins = [parse(dumps(tool(name, "same text")), 0) for name in ("beta", "alpha")]
    assert best("same text", twins) == ["beta", "alpha"]


@pytest.mark.parametrize(
    "query", ["", " ", "🙂", "\u0000", "zzz", "a" * 1_000_000, "the of " * 200_000, "天" * 10_000]
)
def test_any_query_has_an_answer(query: str) -> None:
    assert isinstance(best(query), list)


def test_an_empty_catalog_and_empty_texts_find_nothing() -> None:
    assert best("x", []) == []
    assert best("x", [parse(dumps(tool("_", "")), 0)]) == []


def test_a_query_of_stop_words_alone_is_still_a_query() -> None:
    parsed = [parse(dumps(tool("help", "")), 0), *TOOLS]
    assert best("help", parsed)[0] == "help"


def test_schemas_of_any_shape_are_read() -> None:
    odd = {"properties": {"a": 1, "b": {"enum": 3, "anyOf": "x", "items": [], "properties": []}}}
    entry = tool("odd")
    entry["function"]["parameters"] = odd
    assert best("odd", [parse(dumps(entry), 0)]) == ["odd"]
