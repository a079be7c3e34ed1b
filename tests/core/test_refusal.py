import pytest

from app.core.errors import Broken, Erred, Refused, UpstreamFailed
from app.core.refusal import is_of_its_output, refused, said
from tests.builders import dumps

BODIES = {
    "OpenAI": ({"error": {"message": "Unknown parameter: 'x'"}}, "unknown parameter: 'x'"),
    "no object": ({"object": "error", "message": "Bad ID"}, "bad id"),
    "FastAPI": ({"detail": [{"loc": ["body", "messages", 1, "x"]}]}, "body.messages.1.x"),
    "a list": ({"detail": "Extra inputs"}, "extra inputs"),
    "in a text": ({"error": {"message": '{"error": {"message": "Deep"}}'}}, "deep"),
    "by its field": ({"errors": {"reasoning": ["no"]}}, "reasoning no"),
}


@pytest.mark.parametrize(("given", "text"), BODIES.values(), ids=BODIES)
def test_all_that_is_said(given: object, text: str) -> None:
    told = said(Refused(400, dumps(given)))
    assert told is not None
    assert text in " ".join(told.split())


def test_what_repeats_the_request_is_left_out() -> None:
    detail = {"msg": "Extra", "input": "reasoning_content", "ctx": {"x": "secret"}}
    told = said(Refused(422, dumps({"detail": [detail]})))
    assert told is not None
    assert "reasoning_content" not in told
    assert "secret" not in told


@pytest.mark.parametrize("status", [401, 403, 404, 408, 409, 413, 429, 500, 503, 302])
def test_other_statuses_are_not_about_form(status: int) -> None:
    assert said(Refused(status, dumps({"error": {"message": "tools"}}))) is None


OUTPUT = {
    "The model produced output that does not match the expected peg-native format": True,
    "litellm.InternalServerError: The model produced output that does not match the expected": True,
    "The model generated an invalid tool call": True,
    "Failed to parse the model's output": True,
    "The model is overloaded": False,
    "Failed to parse tool call arguments as JSON": False,
    "Internal server error": False,
}


@pytest.mark.parametrize(("message", "is_so"), OUTPUT.items())
@pytest.mark.parametrize("status", [400, 500])
def test_a_model_whose_output_its_server_cannot_read(
    message: str, is_so: bool, status: int
) -> None:
    assert is_of_its_output(Refused(status, dumps({"error": {"message": message}}))) is is_so


NOT_FORM = [
    "attempted to call tool 'x' which was not in request.tools",
    "This model's maximum context length is 8192",
    "Tools are not supported by this model",
    "This model does not support tools",
    "response_format cannot be used with tools",
]


@pytest.mark.parametrize("message", NOT_FORM)
def test_what_no_other_form_could_mend(message: str) -> None:
    assert said(Refused(400, dumps({"error": {"message": message}}))) is None


def test_what_is_no_json_is_a_text() -> None:
    assert said(Refused(400, b"Unknown field \xff")) == "unknown field �"
    assert said(Refused(400, b"[" * 9_999)) is not None


ERRORS: list[tuple[UpstreamFailed, int | None]] = [
    (Refused(400, b""), 400),
    (Erred(dumps({"error": {"code": 400, "message": "x"}})), 400),
    (Erred(dumps({"error": {"code": "422"}})), 422),
    (Erred(dumps({"error": {"status": 400}})), 400),
    (Erred(dumps({"error": {"code": "rate_limit"}})), None),
    (Erred(dumps({"error": "x"})), None),
    (Broken("x"), None),
]


@pytest.mark.parametrize(("failure", "status"), ERRORS)
def test_a_refusal_may_come_inside_a_reply(failure: UpstreamFailed, status: int | None) -> None:
    found = refused(failure)
    assert (found and found.status) == status
