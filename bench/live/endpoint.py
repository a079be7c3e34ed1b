"""Where the model is and how it is to be measured: `LIVE_*` variables, checked."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


class Missing(Exception):
    """No endpoint is given: there is nothing to measure."""


class Wrong(Exception):
    """A variable cannot be read; the message names it."""


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible endpoint, and the trial that it is put to."""

    base_url: str
    model: str
    key: str = "none"
    sizes: tuple[int, ...] = (41, 300)
    """Tools of the catalogs."""
    repeats: int = 3
    price_in: float = 0.0
    """US dollars for a million prompt tokens ..."""
    price_out: float = 0.0
    """... and for a million completion tokens."""
    flags: tuple[str, ...] = ()
    """More flags of `toolfold serve`."""
    tasks: int = 3
    """The first so many tasks."""
    seconds: float = 300.0
    """For which one request may take."""

    def cost(self, prompt: int, completion: int) -> float:
        """Estimated US dollars, whatever the provider takes off for cached tokens."""
        return (prompt * self.price_in + completion * self.price_out) / 1e6


def read(environ: Mapping[str, str]) -> Endpoint:
    """The endpoint that the environment names. Raises Missing and Wrong."""
    if not environ.get("LIVE_BASE_URL") or not environ.get("LIVE_MODEL"):
        raise Missing("LIVE_BASE_URL and LIVE_MODEL name no endpoint")
    given: dict[str, Any] = {}
    for name, (field, reader) in _OPTIONS.items():
        if text := environ.get(name):
            given[field] = _read(name, text, reader)
    base_url = environ["LIVE_BASE_URL"].rstrip("/")
    return Endpoint(base_url, environ["LIVE_MODEL"], **given)


def _read(name: str, text: str, reader: Callable[[str], T]) -> T:
    try:
        return reader(text)
    except ValueError as error:
        raise Wrong(f"{name} cannot be read: {error}") from error


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split(","))


_OPTIONS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "LIVE_API_KEY": ("key", str),
    "LIVE_SIZES": ("sizes", _sizes),
    "LIVE_REPEATS": ("repeats", int),
    "LIVE_PRICE_IN": ("price_in", float),
    "LIVE_PRICE_OUT": ("price_out", float),
    "LIVE_FLAGS": ("flags", lambda text: tuple(shlex.split(text))),
    "LIVE_TASKS": ("tasks", int),
    "LIVE_SECONDS": ("seconds", float),
}
