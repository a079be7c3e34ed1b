"""The OpenAI SDK over an upstream that only writes text: every dialect, folded and not,
streamed and not. Each question needs a tool whose result nobody can guess."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx2

from app.core.codec import Json
from app.demo.catalog import catalog
from app.demo.client import Chat, connect, solve
from app.demo.desk import Desk
from app.demo.dialogue import DIALOGUE
from app.demo.loopback import serving
from app.demo.proxy import toolfold
from app.demo.tasks import TASKS
from app.demo.upstream import Upstream as Model
from app.tokens import load_counter
from app.upstream import Timeouts, Upstream
from bench.dialects.textonly import TextOnly

DIALECTS = ("json_tag", "pformat")
WAYS = {
    "folded": ("--mode", "auto"),
    "folded, wrap": ("--mode", "auto", "--strategy", "wrap"),
    "unfolded": ("--mode", "off"),
}
_TOOLS = 120
_SEED = 8


@dataclass(frozen=True)
class Outcome:
    """One scenario: what it is called, and why it did not pass."""

    name: str
    failure: str = ""


def outcomes() -> Iterator[Outcome]:
    """Play every scenario in every dialect and every way."""
    for dialect in DIALECTS:
        for way, flags in WAYS.items():
            with _spoken(dialect, flags) as url, connect(url) as api:
                for name, play in _scenarios(api).items():
                    yield _outcome(f"{dialect}, {way}: {name}", play)


@contextmanager
def _spoken(dialect: str, flags: tuple[str, ...]) -> Iterator[str]:
    transport = httpx2.AsyncHTTPTransport(trust_env=False)
    with serving(Model(load_counter(), max_tools=None)) as model:
        text_only = TextOnly(Upstream(model, transport, Timeouts()), dialect)
        with serving(text_only) as url, toolfold(f"{url}/v1", "--dialect", dialect, *flags) as own:
            yield own


def _outcome(name: str, play: Callable[[], str]) -> Outcome:
    try:
        return Outcome(name, play())
    except Exception as error:
        return Outcome(name, f"{type(error).__name__}: {error}"[:300])


def _scenarios(api: Any) -> dict[str, Callable[[], str]]:
    """Each says what went wrong, or nothing."""
    desk = Desk(_SEED)
    tools = catalog(_TOOLS)
    named: Json = {"type": "function", "function": {"name": "ledger_get_balance"}}

    def asked(index: int, stream: bool) -> str:
        task = TASKS[index]
        answer = solve(api, task.ask, tools=tools, run=desk.run, stream=stream)
        return _missing(answer, task.truth(desk.run))

    def conversation(stream: bool) -> str:
        chat = Chat(api, tools=tools, run=desk.run, stream=stream)
        said = [_missing(chat.ask(task.ask), task.truth(desk.run)) for task in DIALOGUE]
        return "; ".join(filter(None, said))

    def choice(value: object, stream: bool) -> str:
        create: Any = api.chat.completions.create
        question = [{"role": "user", "content": TASKS[0].ask}]
        request = {"model": "m", "messages": question, "tools": tools, "tool_choice": value}
        if stream:
            deltas = [c.choices[0].delta for c in create(**request, stream=True) if c.choices]
            calls = [call for delta in deltas for call in delta.tool_calls or ()]
        else:
            calls = create(**request).choices[0].message.tool_calls or []
        wanted = [] if value == "none" else ["ledger_get_balance"]
        made = [call.function.name for call in calls]
        return "" if made == wanted else f"called {made}, not {wanted}"

    found: dict[str, Callable[[], str]] = {}
    for stream in (False, True):
        framing = "streamed" if stream else "buffered"
        for index, task in enumerate(TASKS):
            found[f"{task.title}, {framing}"] = partial(asked, index, stream)
        found[f"a conversation, {framing}"] = partial(conversation, stream)
        for word, value in {"required": "required", "a name": named, "none": "none"}.items():
            found[f"tool_choice {word}, {framing}"] = partial(choice, value, stream)
    return found


def _missing(answer: str, truth: list[str]) -> str:
    missing = [part for part in truth if part not in answer]
    return f"{missing} not in the answer {answer[:200]!r}" if missing else ""
