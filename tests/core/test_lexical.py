import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.ranking.lexical import Index
from app.core.tools import Tool, parse
from tests.builders import CATALOG, dumps, tool

TOOLS = [parse(dumps(entry), at) for at, entry in enumerate(CATALOG)]
INDEX = Index(TOOLS)


def best(query: str, tools: list[Tool] = TOOLS) -> list[str]:
    return [tools[position].name for position, _ in Index(tools).rank(query)]


FINDS = {
    "words of the name": ("create issue", "github__create_issue"),
    "words of the description": ("money back", "stripe__refund_payment"),
    "a property": ("cents", "stripe__refund_payment"),
    "another form": ("refunding payments", "stripe__refund_payment"),
    "chatter around it": ("can you please get me the weather", "get_weather"),
    "a slip": ("refnd", "stripe__refund_payment"),
    "two words as one": ("createissue", "github__create_issue"),
    "one word as two": ("git hub", "github__create_issue"),
    "another word for it": ("is it sunny", "get_weather"),
    "another language": ("wetter", "get_weather"),
    "another script": ("天气", "get_weather"),
    "its family": ("stripe", "stripe__refund_payment"),
}


@pytest.mark.parametrize(("query", "name"), FINDS.values(), ids=FINDS)
def test_a_query_finds_its_tool_first(query: str, name: str) -> None:
    assert best(query)[0] == name


NAMES = ["ticket_find", "find_ticket", "findTicketNote", "mcp__desk__find-ticket", "FINDTICKET"]
STYLES = {
    "as it is": ("find_ticket", "find_ticket"),
    "other case": ("Find_Ticket", "find_ticket"),
    "camel case": ("findTicket", "find_ticket"),
    "kebab": ("find-ticket", "find_ticket"),
    "spaces": (" find ticket ", "find_ticket"),
    "as another one is": ("FINDTICKET", "FINDTICKET"),
    "a longer one": ("find_ticket_note", "findTicketNote"),
    "with its family": ("mcp.desk.findTicket", "mcp__desk__find-ticket"),
}


@pytest.mark.parametrize(("query", "name"), STYLES.values(), ids=STYLES)
def test_an_exact_name_in_any_style_comes_first(query: str, name: str) -> None:
    tools = [parse(dumps(tool(name, "Find a ticket.")), at) for at, name in enumerate(NAMES)]
    assert best(query, tools)[0] == name


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


def test_a_family_that_the_query_names_comes_before_the_others() -> None:
    names = ["jira__create_issue", "asana__create_issue"]
    tools = [parse(dumps(tool(name, "For jira and asana.")), 0) for name in names]
    assert best("issue", tools) == names
    assert best("issue on asana", tools) == names[::-1]


def test_a_family_with_several_answers_comes_before_a_lone_one() -> None:
    names = ["east__find_ship", "east__x", "west__find_ship", "west__list_ships"]
    tools = [parse(dumps(tool(name, "")), 0) for name in names]
    assert best("find ship", tools)[:2] == ["west__find_ship", "east__find_ship"]


def test_the_word_itself_counts_more_than_another_word_for_it() -> None:
    tools = [parse(dumps(tool(name, "")), 0) for name in ("erase_note", "delete_note")]
    assert best("delete note", tools) == ["delete_note", "erase_note"]


HOSTILE = {
    "nothing": "",
    "a space": " ",
    "an emoji": "🙂",
    "a null": "\u0000",
    "half a character": "\ud83d",
    "no word": "zzz",
    "one long word": "a" * 1_000_000,
    "stop words": "the of " * 200_000,
    "one identifier": "aB" * 500_000,
    "accents": "e\u0301" * 500_000,
    "letters that unfold": "\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}" * 300_000,
    "Chinese": "天" * 1_000_000,
    "words": "issue contact weather payment lead " * 30_000,
}


@pytest.mark.parametrize("query", HOSTILE.values(), ids=HOSTILE)
def test_any_query_has_an_answer(query: str) -> None:
    assert isinstance(best(query), list)


def calls(query: str, index: Index) -> int:
    """How many functions are called to answer a query."""
    count = 0

    def called(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(called)
    try:
        index.rank(query)
    finally:
        sys.setprofile(None)
    return count


def test_the_first_query_of_an_index_makes_nothing_that_grows_with_its_catalog() -> None:
    query = " ".join(f"qx{one}{other}zu" for one in "bcdfgh" for other in "bcdfgh")
    INDEX.rank(query)  # what is remembered of words is not a catalog's
    filler = [parse(dumps(tool(f"say_w{n}x", f"Word{n} v{n}")), 0) for n in range(1_000)]
    assert calls(query, Index(TOOLS)) == calls(query, Index([*TOOLS, *filler]))


@given(st.text(min_size=1), st.integers(1, 5000))
@settings(max_examples=50)
def test_what_stands_behind_a_page_of_text_is_not_read(query: str, times: int) -> None:
    page = (query * 2_000)[:2_000]
    assert INDEX.rank(page + "weather" * times) == INDEX.rank(page)


@given(st.text(max_size=300))
@settings(max_examples=100)
def test_ranks_are_positive_distinct_in_order_and_the_same_again(query: str) -> None:
    found = INDEX.rank(query)
    assert [(-score, at) for at, score in found] == sorted((-score, at) for at, score in found)
    assert all(score > 0 for _, score in found)
    assert len({at for at, _ in found}) == len(found)
    assert found == Index(TOOLS).rank(query)


@pytest.mark.parametrize(("more", "finds"), [(5, True), (20, False)], ids=["few", "many"])
def test_of_many_words_no_others_are_looked_for(more: int, finds: bool) -> None:
    """A page of text says enough by itself, and every other word costs time."""
    nothing = " ".join(f"q{chr(97 + n % 26)}{n}z" for n in range(more))
    assert ("get_weather" in best(f"wetter {nothing}")) is finds


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
