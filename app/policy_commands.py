"""`toolfold policy`: check a policy file, and print what can stand in one."""

import typer

policy_app = typer.Typer(
    no_args_is_help=True, help="Check a policy file, or see what can stand in it."
)
