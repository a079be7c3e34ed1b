"""The ways from the app to an upstream, and the servers behind them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from app.demo.loopback import serving
from app.demo.proxy import toolfold
from app.demo.upstream import Upstream


@dataclass(frozen=True)
class Route:
    """A base URL for the app, and the upstream at its end."""

    base_url: str
    upstream: Upstream


@dataclass(frozen=True)
class Routes:
    """Where the app may be pointed."""

    strict: Route
    """Straight to an upstream that keeps OpenAI's limit of 128 tools."""
    lifted: Route
    """Straight to one without that limit, so that a large catalog can be measured at all."""
    folded: Route
    """Through Toolfold to the strict one."""


@contextmanager
def routes(count: Callable[[str], int]) -> Iterator[Routes]:
    """Start both upstreams, and Toolfold in front of the strict one."""
    strict, lifted = Upstream(count), Upstream(count, max_tools=None)
    with (
        serving(strict) as strict_url,
        serving(lifted) as lifted_url,
        toolfold(f"{strict_url}/v1") as folded_url,
    ):
        yield Routes(
            strict=Route(f"{strict_url}/v1", strict),
            lifted=Route(f"{lifted_url}/v1", lifted),
            folded=Route(folded_url, strict),
        )


@contextmanager
def cold(
    count: Callable[[str], int], flags: Sequence[str] | None, *, ports: Sequence[int]
) -> Iterator[Route]:
    """A route to an upstream that has served nothing yet: through a Toolfold with these flags,
    or, where there are none to give, straight to one without a limit of tools."""
    if flags is None:
        lifted = Upstream(count, max_tools=None)
        with serving(lifted) as url:
            yield Route(f"{url}/v1", lifted)
        return
    strict = Upstream(count)
    with serving(strict) as url, toolfold(f"{url}/v1", *flags, ports=ports) as folded_url:
        yield Route(folded_url, strict)
