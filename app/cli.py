"""The command line: `serve`, `explain`, `search`, `check-config`, `version` and `demo`.

Exit codes: 0 it worked, 1 something should be looked at, 2 what was asked for is wrong (settings,
file, request).
"""

import asyncio
import inspect
import platform
import sys
from collections.abc import Callable, Iterable
from contextlib import aclosing
from typing import Annotated, Any, NoReturn, get_args

import typer
from pydantic import SecretStr, ValidationError
from rich.console import Console

from app import __version__, views
from app.core.errors import BadRequest
from app.core.hits import Ranked
from app.core.policy import Policy
from app.explain import Unreadable, explain, read_request, searched
from app.settings import Settings, strangers
from app.tokens import load_counter

_FLAGS = {"upstream_base_url": "--upstream"}
"""Flags that are shorter than the setting's name."""
_POLICY = tuple(Policy.__dataclass_fields__)
_RANKERS = ("ranker_url", "ranker_model", "ranker_timeout")

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Fold large `tools` arrays of OpenAI-compatible requests into one search tool.",
    epilog="Ends with 0 if it worked, 1 if something should be looked at, 2 if what was asked for "
    "is wrong. `NO_COLOR` takes the colours away; a pipe gets none.",
)
Request = Annotated[
    str, typer.Argument(help="A file with the body of a chat-completions request; - is stdin.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def main() -> None:
    """The `toolfold` command."""
    app(prog_name="toolfold")


def flag(setting: str) -> str:
    """The flag of a setting."""
    return _FLAGS.get(setting, f"--{setting.replace('_', '-')}")


def _takes_flag(setting: str) -> bool:
    """A secret stands in the environment: the list of processes shows what flags say."""
    return Settings.model_fields[setting].annotation is not SecretStr


def _with_flags(settings: Iterable[str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command a flag for each of these settings. A flag wins over the environment."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [
            p for p in inspect.signature(command).parameters.values() if p.kind is not p.VAR_KEYWORD
        ]
        parameters = [*own, *(_parameter(name) for name in settings if _takes_flag(name))]
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
        explained = explain(raw, _settings(flags).policy(), load_counter())
    except (Unreadable, BadRequest) as fault:
        _fail(fault.message if isinstance(fault, BadRequest) else str(fault))
    if as_json:
        views.print_json(explained.as_json())
    else:
        views.print_plan(_console(), explained.as_json())


@app.command()
@_with_flags((*_POLICY, *_RANKERS))
def search(
    request: Request,
    queries: Annotated[list[str], typer.Argument(help="What to search for, one phrase each.")],
    as_json: AsJson = False,
    **flags: Any,
) -> None:
    """Show which tools of a request a search finds, with their scores.

    Example: `toolfold search request.json "create calendar event" "send email" --ranker bm25`
    """
    settings = _settings(flags)

    async def run() -> Ranked:
        from app.main import create_rankers

        raw = read_request(request, sys.stdin.buffer)
        async with aclosing(create_rankers(settings)) as rankers:
            return await searched(raw, settings.policy(), load_counter(), rankers, queries)

    try:
        ranked = asyncio.run(run())
    except Unreadable as fault:
        _fail(str(fault))
    best = [
        (query, hits[: settings.limit]) for query, hits in zip(queries, ranked.served, strict=True)
    ]
    if as_json:
        views.print_json(views.rankings_as_json(best))
    else:
        views.print_rankings(_console(), best)
    if ranked.fallback:
        typer.echo(f"toolfold: {settings.ranker} was not served: {ranked.fallback}", err=True)


@app.command()
@_with_flags(Settings.model_fields)
def check_config(as_json: AsJson = False, **flags: Any) -> None:
    """Say what is wrong with the settings, or which of them are set.

    Ends with 0 if all is well, 1 if a variable looks like a setting and is none, 2 if a setting
    is wrong.

    Example: `toolfold check-config --upstream https://api.openai.com/v1`
    """
    try:
        settings, problems = _read(flags), []
    except ValidationError as error:
        settings, problems = None, _problems(error)
    unknown = strangers()
    said = views.config_as_json(settings, problems, unknown)
    if as_json:
        views.print_json(said)
    else:
        views.print_config(_console(), Console(stderr=True), said)
    raise typer.Exit(2 if problems else 1 if unknown else 0)


@app.command()
def version(as_json: AsJson = False) -> None:
    """Print the version.

    Example: `toolfold version --json`
    """
    if as_json:
        views.print_json({"version": __version__, "python": platform.python_version()})
    else:
        print(__version__)


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
    try:
        return _read(flags)
    except ValidationError as error:
        _fail("\n".join(_problems(error)))


def _read(flags: dict[str, Any]) -> Settings:
    return Settings(**{name: value for name, value in flags.items() if value is not None})


def _problems(error: ValidationError) -> list[str]:
    return [
        f"{_where(problem['loc'])}{problem['msg'].removeprefix('Value error, ')}"
        for problem in error.errors()
    ]


def _where(loc: tuple[int | str, ...]) -> str:
    """The setting that a problem is about; a problem between settings names them itself."""
    name = str(loc[0]) if loc else ""
    return f"{flag(name)} or TOOLFOLD_{name.upper()}: " if name else ""


def _console() -> Console:
    return Console()


def _fail(message: str) -> NoReturn:
    for line in message.splitlines():
        typer.echo(f"toolfold: {line}", err=True)
    raise typer.Exit(2)
