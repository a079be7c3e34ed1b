import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.codec import Json
from app.core.errors import BadRequest, Denied
from app.core.exposure import rule
from app.core.narrowing import HEADERS, narrow
from app.core.policy import FIELDS, Policy
from app.core.tools import parse
from tests.builders import dumps, tool

BASE = Policy(
    hidden=("vault*",), direct=("a",), limit=5, max_searches=3, schema_budget="third_party"
)
GOOD: dict[str, tuple[list[tuple[str, str]], Json]] = {
    "nothing": ([], {}),
    "off": ([("mode", "off")], {"mode": "off"}),
    "observe": ([("mode", "observe")], {"mode": "observe"}),
    "the mode that it is": ([("mode", "auto")], {"mode": "auto"}),
    "the other strategy": ([("strategy", "wrap")], {"strategy": "wrap"}),
    "fewer hits": ([("limit", "2")], {"limit": 2}),
    "as many": ([("limit", "5")], {"limit": 5}),
    "fewer searches": ([("max-searches", "1")], {"max_searches": 1}),
    "no list": ([("manifest-tokens", "0")], {"manifest_tokens": 0}),
    "more is hidden": ([("hidden", "x, family:y")], {"hidden": ("x", "family:y", "vault*")}),
    "lists in two headers": ([("hidden", "x"), ("hidden", "y")], {"hidden": ("x", "y", "vault*")}),
    "direct": ([("direct", "b")], {"direct": ("b", "a")}),
    "deferred": ([("deferred", "c")], {"deferred": ("c",)}),
    "a smaller schema budget": ([("schema-budget", "900")], {"schema_budget": 900}),
    "the budget that it is": ([("schema-budget", "5000")], {"schema_budget": 5000}),
}


def headers(*given: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((f"x-toolfold-{name}", value) for name, value in given)


@pytest.mark.parametrize(("given", "changed"), GOOD.values(), ids=GOOD)
def test_less_may_be_asked_for(given: list[tuple[str, str]], changed: Json) -> None:
    narrowed = narrow(BASE, headers(*given))
    for name in FIELDS:
        assert getattr(narrowed, name) == changed.get(name, getattr(BASE, name))
    assert narrowed is BASE if not given else narrowed.within is BASE


MORE: dict[str, tuple[str, str, str]] = {
    "mode": ("mode", "on", "ask for off or observe or auto"),
    "limit": ("limit", "6", "ask for 5 or less"),
    "searches": ("max-searches", "4", "ask for 3 or less"),
    "list": ("manifest-tokens", "4001", "ask for 4000 or less"),
    "schema budget": ("schema-budget", "5001", "ask for 5000 or less"),
    "no schema budget": ("schema-budget", "off", "ask for 5000 or less"),
}


@pytest.mark.parametrize(("name", "value", "says"), MORE.values(), ids=MORE)
def test_C46_more_is_refused_with_the_header_and_the_bound(
    name: str, value: str, says: str
) -> None:
    with pytest.raises(Denied) as caught:
        narrow(BASE, headers((name, value)))
    assert caught.value.status == 403
    assert (caught.value.param or "").lower() == f"x-toolfold-{name}"
    assert says in caught.value.message
    assert (caught.value.param or "?") in caught.value.message


WRONG: dict[str, tuple[list[tuple[str, str]], str]] = {
    "a mode that there is not": ([("mode", "sometimes")], "must be off, observe, auto or on"),
    "a mode in capitals": ([("mode", "OFF")], "must be off, observe, auto or on"),
    "an empty mode": ([("mode", "")], "must be off, observe, auto or on"),
    "two modes": ([("mode", "off"), ("mode", "off")], "is given twice"),
    "a strategy that there is not": ([("strategy", "fold")], "must be promote, wrap or native"),
    "a number in words": ([("limit", "two")], "must be a whole number from 1 to 20"),
    "a sign": ([("limit", "+2")], "must be a whole number"),
    "a fraction": ([("limit", "2.0")], "must be a whole number"),
    "digits of another script": ([("limit", "\u0662")], "must be a whole number"),
    "nothing": ([("limit", "")], "must be a whole number"),
    "none": ([("limit", "0")], "must be a whole number from 1 to 20"),
    "more than there can be": ([("limit", "21")], "must be a whole number from 1 to 20"),
    "very many digits": ([("limit", "9" * 4_000)], "must be a whole number"),
    "an empty pattern": ([("hidden", "a,,b")], "must be 1 to 64 patterns"),
    "no pattern": ([("hidden", "")], "must be 1 to 64 patterns"),
    "a space inside": ([("hidden", "a b")], "must be 1 to 64 patterns"),
    "too many patterns": ([("hidden", ",".join("a" * 65))], "must be 1 to 64 patterns"),
    "a name that is nearly right": ([("hiden", "a")], "did you mean `X-Toolfold-Hidden`?"),
    "a name that is far off": ([("zzz", "a")], "There are X-Toolfold-Mode, "),
    "what no header can set": ([("default-exposure", "direct")], "There is no header"),
    "an internal field": ([("within", "x")], "There is no header"),
    "underscores": ([("max_searches", "1")], "did you mean `X-Toolfold-Max-Searches`?"),
}


@pytest.mark.parametrize(("given", "says"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_read_is_said_with_the_header(
    given: list[tuple[str, str]], says: str
) -> None:
    with pytest.raises(BadRequest) as caught:
        narrow(BASE, headers(*given))
    assert says in caught.value.message
    assert caught.value.param.lower() == f"x-toolfold-{given[0][0]}"
    assert given[0][0].replace("_", "-") in caught.value.message.lower().replace("_", "-")


def test_C9_underscores_are_another_header() -> None:
    with pytest.raises(BadRequest, match="did you mean `X-Toolfold-Mode`"):
        narrow(BASE, (("x_toolfold_mode", "off"),))


PATTERNS = st.lists(
    st.sampled_from(["*", "a*", "vault*", "family:vault", "family:*", "ask_*", "tool_search", "b"]),
    max_size=3,
)
WORDS = st.sampled_from(["direct", "deferred", "hidden"])


@given(
    base=st.builds(
        Policy,
        mode=st.sampled_from(["off", "observe", "auto", "on"]),
        default_exposure=WORDS,
        direct=PATTERNS.map(tuple),
        deferred=PATTERNS.map(tuple),
        hidden=PATTERNS.map(tuple),
        admit_bridge=st.booleans(),
    ),
    asked=st.lists(st.tuples(WORDS, PATTERNS.filter(bool).map(",".join)), max_size=3),
    mark=st.sampled_from([None, True, False]),
    name=st.sampled_from(["a1", "vault__x", "b", "ask_user", "tool_search", "call_tool"]),
)
def test_no_header_brings_back_what_the_policy_hides(
    base: Policy, asked: list[tuple[str, str]], mark: bool | None, name: str
) -> None:
    entry = tool(name) if mark is None else {**tool(name), "defer_loading": mark}
    parsed = parse(dumps(entry), 0)
    family = "vault" if name.startswith("vault") else None
    narrowed = narrow(base, headers(*asked))
    if rule(base, parsed, family).exposure == "hidden":
        assert rule(narrowed, parsed, family).exposure == "hidden"


def test_the_table_of_headers_is_that_of_the_fields() -> None:
    assert [field.header.lower() for field in HEADERS.values()] == list(HEADERS)
