"""`toolfold policy`: check a policy file, and print what can stand in one."""

from pathlib import Path
from typing import Annotated

import typer

from app import views
from app.policies.document import Invalid, Problem
from app.policies.reader import read
from app.policies.reference import schema
from app.settings import Settings
from app.tenants import anybody

policy_app = typer.Typer(
    no_args_is_help=True, help="Check a policy file, or see what can stand in it."
)


@policy_app.command()
def check(
    file: Annotated[str, typer.Argument(help="A policy file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say all that is wrong with a policy file.

    Example: `toolfold policy check policy.yaml`
    """
    try:
        raw = Path(file).read_bytes()
        policies = read(raw, anybody(Settings()))
    except OSError as error:
        problems = [Problem(1, "", f"cannot be read: {error.strerror}")]
    except Invalid as invalid:
        problems = invalid.problems
    else:
        problems = []
    if as_json:
        views.print_json([{"file": file, **problem._asdict()} for problem in problems])
    for problem in () if as_json else problems:
        typer.echo(problem.text(file), err=True)
    if problems:
        raise typer.Exit(2)
    if not as_json:
        print(f"{file}: good; {len(policies.by_name)} tenants, {len(policies.by_key)} keys")


@policy_app.command(name="schema")
def schema_command() -> None:
    """Print the JSON Schema of the policy file.

    Example: `toolfold policy schema > policy.schema.json`
    """
    views.print_json(schema())
