"""The command line, a function a command.

Exit codes: 0 it worked, 1 something should be looked at, 2 what was asked for is wrong (settings,
file, request).
"""

import asyncio
import platform
import sys
from contextlib import aclosing
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.console import Console

from app import __version__, views
from app.core.errors import BadRequest, Denied
from app.core.hits import Ranked
from app.core.policy import FIELDS
from app.explain import Unreadable, explain, read_request, searched
from app.flags import fail, problems_of, read, settings_of, with_flags
from app.policies.document import Invalid
from app.policy_commands import policy_app
from app.settings import Settings, strangers
from app.tenants import Unsafe, check_policies, resolve
from app.tokens import load_counter

_POLICY = tuple(FIELDS)
_RANKERS = ("ranker_url", "ranker_model", "ranker_timeout")

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Fold large `tools` arrays of OpenAI-compatible requests into one search tool.",
    epilog="Ends with 0 if it worked, 1 if something should be looked at, 2 if what was asked for "
    "is wrong. `NO_COLOR` takes the colours away; a pipe gets none.",
)
app.add_typer(policy_app, name="policy")
Request = Annotated[
    str, typer.Argument(help="A file with the body of a chat-completions request; - is stdin.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def main() -> None:
    """The `toolfold` command."""
    app(prog_name="toolfold")


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit


@app.command()
@with_flags(Settings.model_fields)
def serve(**flags: Any) -> None:
    """Run the proxy.

    Example: `toolfold serve --upstream https://api.openai.com/v1 --port 8080`, and then
    `base_url="http://127.0.0.1:8080/v1"` in the app.
    """
    settings = settings_of(flags)
    from app.main import serve as run  # a second, which what is wrong need not wait for

    try:
        with asyncio.Runner(loop_factory=_new_loop) as runner:
            runner.run(run(settings))
    except OSError as error:
        fail(f"cannot listen: {error}")
    except Unsafe as unsafe:
        fail(str(unsafe))
    except Invalid as invalid:
        fail("\n".join(problem.text(settings.policy_file) for problem in invalid.problems))


@app.command(name="explain")
@with_flags(("policy_file", *_POLICY))
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
    settings = settings_of(flags)
    try:
        resolved = resolve(settings, tenant, header or [])
        raw = read_request(request, sys.stdin.buffer)
        explained = explain(raw, resolved.policy, load_counter(), settings.traits())
    except (Unreadable, BadRequest, Denied) as fault:
        fail(str(fault) if isinstance(fault, Unreadable) else fault.message)
    except Invalid as invalid:
        fail("\n".join(problem.text(settings.policy_file) for problem in invalid.problems))
    said = explained.as_json() | {"policy": resolved.as_json()}
    if as_json:
        views.print_json(said)
    else:
        views.print_plan(_console(), said)


@app.command()
@with_flags((*_POLICY, *_RANKERS))
def search(
    request: Request,
    queries: Annotated[list[str], typer.Argument(help="What to search for, one phrase each.")],
    as_json: AsJson = False,
    **flags: Any,
) -> None:
    """Show which tools of a request a search finds, with their scores.

    Example: `toolfold search request.json "create calendar event" "send email" --ranker bm25`
    """
    settings = settings_of(flags)

    async def run() -> Ranked:
        from app.main import create_rankers

        raw = read_request(request, sys.stdin.buffer)
        async with aclosing(create_rankers(settings)) as rankers:
            return await searched(raw, settings.policy(), load_counter(), rankers, queries)

    try:
        ranked = asyncio.run(run())
    except Unreadable as fault:
        fail(str(fault))
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
@with_flags(Settings.model_fields)
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

    settings = settings_of(flags)

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
@with_flags(("admin_host", "admin_port"))
def healthcheck(
    ready: Annotated[bool, typer.Option("--ready", help="Ask for readiness, not life.")] = False,
    **flags: Any,
) -> None:
    """Ask a running Toolfold whether it is alive: for probes that run a command.

    Example: `toolfold healthcheck --ready`
    """
    from app.doctor import alive

    raise typer.Exit(0 if alive(settings_of(flags), "/readyz" if ready else "/healthz") else 1)


@app.command()
@with_flags(Settings.model_fields)
def check_config(as_json: AsJson = False, **flags: Any) -> None:
    """Say what is wrong with the settings and the policy file, or which settings are set.

    Ends with 0 if all is well, 1 if a variable looks like a setting and is none, 2 if `serve`
    would not start.

    Example: `toolfold check-config --upstream https://api.openai.com/v1`
    """
    settings, problems = _checked(flags)
    unknown = strangers()
    said = views.config_as_json(settings, problems, unknown)
    if as_json:
        views.print_json(said)
    else:
        views.print_config(_console(), Console(stderr=True), said)
    raise typer.Exit(2 if problems else 1 if unknown else 0)


def _checked(flags: dict[str, Any]) -> tuple[Settings | None, list[str]]:
    """The settings, where they can be read, and what is wrong."""
    try:
        settings = read(flags)
    except ValidationError as error:
        return None, problems_of(error)
    try:
        check_policies(settings)
    except Unsafe as unsafe:
        return settings, [str(unsafe)]
    except Invalid as invalid:
        return settings, [problem.text(settings.policy_file) for problem in invalid.problems]
    return settings, []


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


def _console() -> Console:
    return Console()
