"""The command line: `serve`, `explain`, `search` and `demo`.

Exit codes: 0 it worked, 2 what was asked for is wrong (settings, file, request).
"""

import asyncio
import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Any, NoReturn, get_args

import typer
from pydantic import ValidationError
from rich.console import Console

from app import __version__, views
from app.core.errors import BadRequest
from app.core.policy import Policy
from app.explain import Unreadable, explain, rankings, read_request
from app.settings import Settings
from app.tokens import load_counter

_FLAGS = {"upstream_base_url": "--upstream"}
"""Flags that are shorter than the setting's name."""
_POLICY = tuple(Policy.__dataclass_fields__)

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Fold large `tools` arrays of OpenAI-compatible requests into one search tool.",
)
Request = Annotated[
    str, typer.Argument(help="A file with the body of a chat-completions request; - is stdin.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def main() -> None:
    """The `toolfold` command."""
    app()


def flag(setting: str) -> str:
    """The flag of a setting."""
    return _FLAGS.get(setting, f"--{setting.replace('_', '-')}")


def _with_flags(settings: Iterable[str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command a flag for each of these settings. A flag wins over the environment."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [
            p for p in inspect.signature(command).parameters.values() if p.kind is not p.VAR_KEYWORD
        ]
        parameters = [*own, *(_parameter(name) for name in settings)]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        return command

    return decorate


def _parameter(setting: str) -> inspect.Parameter:
    field = Settings.model_fields[setting]
    default = ",".join(field.default) if isinstance(field.default, tuple) else str(field.default)
    option = typer.Option(
        flag(setting),
        help=f"{field.description} [TOOLFOLD_{setting.upper()}]",
        show_default=default or False,
    )
    is_list = isinstance(field.default, tuple)
    words = get_args(field.annotation)
    kind: Any = str if is_list or len(words) == 1 else field.annotation
    return inspect.Parameter(
        setting,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, option],
    )


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit


@app.command()
@_with_flags(Settings.model_fields)
def serve(**flags: Any) -> None:
    """Run the proxy.

    Example: `toolfold serve --upstream https://api.openai.com/v1 --port 8080`, and then
    `base_url="http://127.0.0.1:8080/v1"` in the app.
    """
    from app.main import serve as run

    settings = _settings(flags)
    try:
        with asyncio.Runner(loop_factory=_new_loop) as runner:
            runner.run(run(settings))
    except OSError as error:
        _fail(f"cannot listen: {error}")


@app.command(name="explain")
@_with_flags(_POLICY)
def explain_command(request: Request, as_json: AsJson = False, **flags: Any) -> None:
    """Show what would be done with a request, and why.

    Example: `toolfold explain request.json --mode on`
    """
    try:
        raw = read_request(request, sys.stdin.buffer)
        settings = _settings(flags)
        explained = explain(raw, settings.policy(), load_counter(), settings.traits())
    except (Unreadable, BadRequest) as fault:
        _fail(fault.message if isinstance(fault, BadRequest) else str(fault))
    if as_json:
        views.print_json(explained.as_json())
    else:
        views.print_plan(_console(), explained.as_json())


@app.command()
@_with_flags(_POLICY)
def search(
    request: Request,
    queries: Annotated[list[str], typer.Argument(help="What to search for, one phrase each.")],
    as_json: AsJson = False,
    **flags: Any,
) -> None:
    """Show which tools of a request a search finds, with their scores.

    Example: `toolfold search request.json "create calendar event" "send email"`
    """
    settings = _settings(flags)
    try:
        raw = read_request(request, sys.stdin.buffer)
        found = rankings(raw, settings.policy(), load_counter(), queries)
    except Unreadable as fault:
        _fail(str(fault))
    best = {query: hits[: settings.limit] for query, hits in zip(queries, found, strict=True)}
    if as_json:
        views.print_json(views.rankings_as_json(best))
    else:
        views.print_rankings(_console(), best)


@app.command()
def demo() -> None:
    """Show what folding saves, with no key and no network.

    Example: `toolfold demo`
    """
    from app.demo.run import main as run

    raise typer.Exit(run())


def _new_loop() -> asyncio.AbstractEventLoop:
    """uvloop's, where there is one."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def _settings(flags: dict[str, Any]) -> Settings:
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        problems = [
            f"{flag(name)} or TOOLFOLD_{name.upper()}: {problem['msg'].lower()}"
            for problem in error.errors()
            if (name := str(problem["loc"][0]))
        ]
        _fail("\n".join(problems))


def _console() -> Console:
    return Console()


def _fail(message: str) -> NoReturn:
    for line in message.splitlines():
        typer.echo(f"toolfold: {line}", err=True)
    raise typer.Exit(2)
