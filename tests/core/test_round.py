from app.core.address import Addressee
from app.core.bill import Played, Usage
from app.core.calls import Call
from app.core.chunks import Chunk
from app.core.codec import Json
from app.core.round import Round


def addressee(call: Call) -> Addressee:
    return {"tool_search": "search", "blind": "blind"}.get(call.name, "client")  # type: ignore[return-value]


def chunk(finish: str | None = None, **delta: object) -> Chunk:
    return Chunk({"id": "u", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def fragment(index: int, name: str = "", arguments: str = "") -> Json:
    function = {"name": name, "arguments": arguments}
    return {"index": index, "id": f"c{index}" if name else "", "function": function}


def read(*chunks: Chunk) -> Round:
    round = Round(addressee)
    for one in chunks:
        round.read(one)
    return round


def test_words_are_ready_at_once() -> None:
    assert len(list(read(chunk(content="a")).ready())) == 1


def test_a_call_is_ready_when_its_name_is_settled() -> None:
    round = read(chunk(tool_calls=[fragment(0, "get_weather")]))
    assert list(round.ready()) == []
    round.read(chunk(tool_calls=[fragment(0, "", "{")]))
    assert len(list(round.ready())) == 2


def test_what_stands_behind_an_open_call_waits() -> None:
    round = read(chunk(tool_calls=[fragment(0, "blind", "{}")]), chunk(content="a"))
    round.read(chunk(tool_calls=[fragment(1, "get_weather", "{}")]))
    assert list(round.ready()) == []
    round.leaves[round.calls.all[0]] = True
    assert len(list(round.ready())) == 3


def test_what_comes_with_a_finish_reason_or_behind_it_waits_for_the_end() -> None:
    round = read(chunk(content="a"), chunk("stop"), chunk(content="b"))
    assert len(list(round.ready())) == 0
    assert round.has_finish
    round.close(hidden=False)
    assert [entry.finish for entry in round.ready()] == [None, None, "stop"]


def test_an_empty_finish_reason_is_none() -> None:
    round = read(chunk(finish="", content="a"))
    assert not round.has_finish
    assert len(list(round.ready())) == 1


def test_a_finish_that_was_forgotten_is_added() -> None:
    round = read(chunk(content="a"))
    list(round.ready())
    round.close(hidden=False)
    [entry] = round.ready()
    assert entry.finish == "stop"
    assert entry.chunk.data["id"] == "u"


def test_a_round_whose_calls_were_not_for_the_client_stops() -> None:
    round = read(chunk("tool_calls", tool_calls=[fragment(0, "tool_search", "{}")]))
    round.end()
    round.close(hidden=False)
    assert [entry.finish for entry in round.ready()] == ["stop"]


def test_an_empty_reply_has_no_finish_to_add() -> None:
    round = read()
    round.close(hidden=False)
    assert round.is_empty
    assert list(round.ready()) == []


def test_what_it_said_beside_its_calls_goes_back() -> None:
    said = chunk(role="assistant", content="a", reasoning_content="b", refusal=None, x=[])
    assert read(said).said == {"content": "a", "reasoning_content": "b"}


def test_a_round_says_what_it_was() -> None:
    said = Chunk({"id": "u", "model": "m", "choices": [{"index": 0, "delta": {"content": "a"}}]})
    usage = Chunk({"id": "u", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1}})
    assert read().played == Played()
    assert read(said, chunk("stop")).played == Played("u", "m", "stop")
    assert read(chunk("stop"), usage).played == Played("u", "", "stop", Usage(9, 1))
    assert read(Chunk({"id": 7, "model": None, "choices": [{}]})).played == Played()
