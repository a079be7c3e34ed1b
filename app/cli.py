"""The command line: `serve`, `explain`, `search`, `policy`, `doctor`, `healthcheck` and `demo`.

Exit codes: 0 it worked, 2 what was asked for is wrong (settings, file, request); `doctor` ends
with 1 where something should be looked at, and `healthcheck` where the answer is no.
"""

import asyncio
import inspect
import sys
from collections.abc import Callable, Iterable
from contextlib import aclosing
from typing import Annotated, Any, NoReturn, get_args

import typer
from pydantic import SecretStr, ValidationError
from rich.console import Console

from app import __version__, views
from app.core.errors import BadRequest, Denied
from app.core.hits import Ranked
from app.core.policy import FIELDS
from app.explain import Unreadable, explain, read_request, searched
from app.policies.document import Invalid
from app.policy_commands import policy_app
from app.settings import Settings
from app.tenants import Unsafe, resolve
from app.tokens import load_counter

_FLAGS = {"upstream_base_url": "--upstream"}
"""Flags that are shorter than the setting's name."""
_POLICY = tuple(FIELDS)
_RANKERS = ("ranker_url", "ranker_model", "ranker_timeout")

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Fold large `tools` arrays of OpenAI-compatible requests into one search tool.",
)
app.add_typer(policy_app, name="policy")
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
    is_text = is_list or len(words) == 1 or field.annotation is SecretStr or int in words
    kind: Any = str if is_text else field.annotation
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
    settings = _settings(flags)
    from app.main import serve as run  # a second, which what is wrong need not wait for

    try:
        with asyncio.Runner(loop_factory=_new_loop) as runner:
            runner.run(run(settings))
    except OSError as error:
        _fail(f"cannot listen: {error}")
    except Unsafe as unsafe:
        _fail(str(unsafe))
    except Invalid as invalid:
        _fail("\n".join(problem.text(settings.policy_file) for problem in invalid.problems))


@app.command(name="explain")
@_with_flags(("policy_file", *_POLICY))
def explain_command(
    request: Request,
    as_json: AsJson = False,
    tenant: Annotated[str, typer.Option(help="A tenant of the policy file.")] = "",
    header: Annotated[
        list[str] | None, typer.Option(help="A header of the request, as `X-Toolfold-Limit: 3`.")
    ] = None,
    **flags: Any,
) -> None:
    """Show what would be done with a request, and why, and where the policy comes from.

    Example: `toolfold explain request.json --mode on`
    """
    settings = _settings(flags)
    try:
        resolved = resolve(settings, tenant, header or [])
        raw = read_request(request, sys.stdin.buffer)
        explained = explain(raw, resolved.policy, load_counter(), settings.traits())
    except (Unreadable, BadRequest, Denied) as fault:
        _fail(str(fault) if isinstance(fault, Unreadable) else fault.message)
    except Invalid as invalid:
        _fail("\n".join(problem.text(settings.policy_file) for problem in invalid.problems))
    said = explained.as_json() | {"policy": resolved.as_json()}
    if as_json:
        views.print_json(said)
    else:
        views.print_plan(_console(), said)


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
def doctor(
    call: Annotated[
        str, typer.Option(metavar="MODEL", help="Also ask this model for one token, at your cost.")
    ] = "",
    key: Annotated[
        str, typer.Option(envvar="OPENAI_API_KEY", help="The upstream's key.", show_default=False)
    ] = "",
    as_json: AsJson = False,
    **flags: Any,
) -> None:
    """Say whether it would work: settings, vocabulary, upstream and store.

    Ends with 0 if all is well, 1 if something should be looked at, 2 if something is broken.

    Example: `toolfold doctor --upstream https://api.openai.com/v1 --call gpt-4o-mini`
    """
    from app.doctor import Finding, Trial, examine

    settings = _settings(flags)

    async def ask() -> list[Finding]:
        return [finding async for finding in examine(settings, Trial(key, call))]

    findings = asyncio.run(ask())
    if as_json:
        views.print_json([finding._asdict() for finding in findings])
    else:
        views.print_findings(_console(), [tuple(finding) for finding in findings])
    results = {finding.result for finding in findings}
    raise typer.Exit(2 if "fail" in results else 1 if "warn" in results else 0)


@app.command()
@_with_flags(("admin_host", "admin_port"))
def healthcheck(
    ready: Annotated[bool, typer.Option("--ready", help="Ask for readiness, not life.")] = False,
    **flags: Any,
) -> None:
    """Ask a running Toolfold whether it is alive: for probes that run a command.

    Example: `toolfold healthcheck --ready`
    """
    from app.doctor import alive

    raise typer.Exit(0 if alive(_settings(flags), "/readyz" if ready else "/healthz") else 1)


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
            f"{_where(problem['loc'])}{problem['msg'].removeprefix('Value error, ')}"
            for problem in error.errors()
        ]
        _fail("\n".join(problems))


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
