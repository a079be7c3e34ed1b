"""Flags of commands: one for each setting, read together with the environment."""

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any, NoReturn, get_args

import typer
from pydantic import SecretStr, ValidationError

from app.settings import Settings

_FLAGS = {"upstream_base_url": "--upstream"}
"""Flags that are shorter than the setting's name."""


def flag(setting: str) -> str:
    """The flag of a setting."""
    return _FLAGS.get(setting, f"--{setting.replace('_', '-')}")


def _takes_flag(setting: str) -> bool:
    """A secret stands in the environment: the list of processes shows what flags say."""
    return Settings.model_fields[setting].annotation is not SecretStr


def with_flags(settings: Iterable[str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
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


def settings_of(flags: dict[str, Any]) -> Settings:
    """The settings with these flags. Ends the command where one is wrong."""
    try:
        return read(flags)
    except ValidationError as error:
        fail("\n".join(problems_of(error)))


def read(flags: dict[str, Any]) -> Settings:
    """The settings with these flags. Raises ValidationError."""
    return Settings(**{name: value for name, value in flags.items() if value is not None})


def problems_of(error: ValidationError) -> list[str]:
    """Each with the flag and the variable that it is about."""
    return [
        f"{_where(problem['loc'])}{problem['msg'].removeprefix('Value error, ')}"
        for problem in error.errors()
    ]


def _where(loc: tuple[int | str, ...]) -> str:
    """The setting that a problem is about; a problem between settings names them itself."""
    name = str(loc[0]) if loc else ""
    return f"{flag(name)} or TOOLFOLD_{name.upper()}: " if name else ""


def fail(message: str) -> NoReturn:
    """End the command with 2, and say why."""
    for line in message.splitlines():
        typer.echo(f"toolfold: {line}", err=True)
    raise typer.Exit(2)
