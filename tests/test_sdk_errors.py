"""An SDK raises what it would have raised without us."""

import openai
import pytest

from tests.builders import dumps, request
from tests.conftest import Proxy, start_proxy
from tests.test_failures import ERROR, EVENT, FRAMINGS, SEARCH, SPOKEN, WORDS
from tests.upstream import Raw, Scripted


def client(proxy: Proxy) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=proxy.url, api_key="key", max_retries=0)


RAISED: dict[str, tuple[list[Scripted], type[openai.APIError]]] = {
    "400": ([400], openai.BadRequestError),
    "401": ([401], openai.AuthenticationError),
    "404": ([404], openai.NotFoundError),
    "429": ([429], openai.RateLimitError),
    "500": ([500], openai.InternalServerError),
    "503 in a hidden round": ([SEARCH, 503], openai.InternalServerError),
    "429 in a hidden round": ([SEARCH, 429], openai.RateLimitError),
    "nothing": ([Raw(b"", cut=True)], openai.InternalServerError),
    "HTML": ([Raw(b"<p>", 200, "text/html")], openai.InternalServerError),
    "broken in a hidden round": ([SEARCH, Raw(b"", cut=True)], openai.InternalServerError),
}
RAISED_IN_STREAM: dict[str, list[Scripted]] = {
    "cut": [Raw(WORDS, cut=True)],
    "error event": [Raw(WORDS + EVENT)],
    "error event at once": [Raw(EVENT)],
    "hidden round": [Raw(SPOKEN), 503],
    "error in JSON": [Raw(dumps(ERROR), 200, "application/json")],
}


@FRAMINGS
@pytest.mark.parametrize(("script", "kind"), RAISED.values(), ids=RAISED)
async def test_an_sdk_raises_what_it_would_have_raised(
    script: list[Scripted], kind: type[openai.APIError], stream: bool
) -> None:
    async with start_proxy(*script) as proxy, client(proxy) as sdk:
        with pytest.raises(kind):
            await sdk.chat.completions.create(**request(), stream=stream)


@pytest.mark.parametrize("script", RAISED_IN_STREAM.values(), ids=RAISED_IN_STREAM)
async def test_an_sdk_raises_in_the_middle_of_a_stream(script: list[Scripted]) -> None:
    async with start_proxy(*script) as proxy, client(proxy) as sdk:
        stream = await sdk.chat.completions.create(**request(), stream=True)
        with pytest.raises(openai.APIError, match=r"."):
            async for _ in stream:
                pass
