import pytest

from app.core.address import Addressee
from app.core.calls import Call
from app.core.codec import Json
from app.core.errors import Refused
from app.core.verdict import refuse, to_be_shown, undeclared
from tests.builders import call, dumps
from tests.core.test_terms import terms
from tests.scripts import UNDECLARED


def made(value: Json) -> Call:
    built = Call()
    built.add(value)
    return built


SHOWN: dict[str, tuple[Json, Addressee, str | None]] = {
    "valid arguments": (call("c", "get_weather", {"city": "Oslo"}), "blind", None),
    "wrong arguments": (call("c", "get_weather", {}), "blind", "get_weather"),
    "a wrong name": (call("c", "getWeather", {"city": "Oslo"}), "alias", "get_weather"),
    "a declared tool is nobody's business": (call("c", "think", {}), "client", None),
}


@pytest.mark.parametrize(("value", "whom", "name"), SHOWN.values(), ids=SHOWN)
def test_which_tool_must_be_shown(value: Json, whom: Addressee, name: str | None) -> None:
    tool = to_be_shown(made(value), whom, terms())
    assert (tool.name if tool else None) == name


def test_a_refusal_gives_close_names_three_at_most() -> None:
    refused = refuse(made(call("c", "crm__read_people")), "unknown", terms())
    assert (refused.kind, refused.to, len(refused.names)) == ("unknown", "tool", 3)


REFUSALS: dict[str, tuple[Refused, list[str]]] = {
    "names a deferred tool": (UNDECLARED, ["get_weather"]),
    "names none": (Refused(400, dumps({"error": {"message": "no"}})), []),
    "names one in the failed text": (
        Refused(400, dumps({"error": {"message": "x", "failed_generation": "<get_weather>"}})),
        ["get_weather"],
    ),
    "is the server's fault": (Refused(500, UNDECLARED.body), []),
    "is no error object": (Refused(400, b'{"error":"get_weather"}'), []),
    "is no JSON": (Refused(400, b"get_weather"), []),
}


@pytest.mark.parametrize(("refusal", "names"), REFUSALS.values(), ids=REFUSALS)
def test_which_tools_a_refusal_is_about(refusal: Refused, names: list[str]) -> None:
    assert [tool.name for tool in undeclared(refusal, terms(), [])] == names
    assert undeclared(refusal, terms(), names) == []
