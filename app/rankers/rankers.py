"""The ranker that a policy names, its stand-in, and what every one of them said."""

import asyncio
from collections.abc import Mapping, Sequence
from time import perf_counter

import structlog

from app.breaker import Breaker
from app.core.hits import Hit, Ranked, Rankings
from app.core.policy import Policy
from app.core.ranking.lexical import key
from app.core.search import Search, rank
from app.core.shape import Shape
from app.rankers import RankerFailed, Remote, Why
from app.telemetry import log_fault

_log = structlog.get_logger()
_LOCAL = ("lexical", "bm25")
_SAYS_NOTHING_OF_HEALTH = ("cold", "not-configured")


class Rankers:
    """A search never errors: whatever a remote ranker does, there is the lexical ranking."""

    def __init__(self, remotes: Mapping[str, Remote], patience: float, breaker: Breaker) -> None:
        self._remotes = remotes
        self._patience = patience
        self._breaker = breaker

    async def prepare(self, shape: Shape, policy: Policy) -> None:
        """Let a remote ranker prepare for the searches of a shape. Raises RankerFailed."""
        if remote := self._remotes.get(_wanted(policy)):
            await remote.prepare(shape)

    def warm(self, shape: Shape, policy: Policy) -> None:
        """The same, without waiting."""
        if remote := self._remotes.get(_wanted(policy)):
            remote.warm(shape)

    async def rank(self, search: Search, shape: Shape, policy: Policy) -> Ranked:
        """Rank the deferred tools for every query of a search. Never raises."""
        began = perf_counter()
        wanted = _wanted(policy)
        lexical = rank(shape.catalog.index, search, shape)
        by_ranker: dict[str, Rankings] = {"lexical": lexical}
        if wanted == "bm25" or policy.ranker_mode == "compare":
            plain = shape.catalog.bm25
            by_ranker["bm25"] = await asyncio.to_thread(rank, plain, search, shape)
        served, why = by_ranker.get(wanted, lexical), None
        if wanted not in _LOCAL:
            try:
                found = await self._ask(wanted, search, shape, lexical)
            except RankerFailed as failure:
                wanted, why = "lexical", failure.why
            else:
                by_ranker[wanted] = found
                served, why = _served(search.queries, found, lexical)
        return Ranked(wanted, served, by_ranker, why, perf_counter() - began)

    async def aclose(self) -> None:
        """Let go of every connection."""
        for remote in self._remotes.values():
            await remote.aclose()

    async def _ask(
        self, name: str, search: Search, shape: Shape, lexical: Rankings
    ) -> list[list[Hit]]:
        """What a remote ranker says, the names that it invents dropped. Raises RankerFailed."""
        remote = self._remotes.get(name)
        if remote is None:
            raise RankerFailed("not-configured")
        if not self._breaker.may_ask():
            raise RankerFailed("unreachable")
        try:
            async with asyncio.timeout(self._patience):
                said = await remote.rank(search.queries, shape, lexical)
        except TimeoutError:
            self._note(RankerFailed("timeout"), name)
            raise RankerFailed("timeout") from None
        except RankerFailed as failure:
            self._note(failure, name)
            raise
        except Exception as error:  # promise: a search never errors
            log_fault("ranker_fault", error)
            raise RankerFailed("malformed") from None
        if self._breaker.worked():
            _log.warning("ranker_recovered", ranker=name)
        return [_known(hits, shape) for hits in said]

    def _note(self, failure: RankerFailed, name: str) -> None:
        if failure.why not in _SAYS_NOTHING_OF_HEALTH and self._breaker.failed():
            _log.warning("ranker_failed", ranker=name, why=failure.why)


def _wanted(policy: Policy) -> str:
    return "bm25" if policy.ranker_mode == "bm25" else policy.ranker


def _known(hits: Sequence[Hit], shape: Shape) -> list[Hit]:
    """The hits that are deferred tools, each once."""
    first = {hit.name: hit for hit in reversed(hits) if hit.name in shape.deferred}
    return [hit for hit in hits if first.get(hit.name) is hit]


def _served(
    queries: Sequence[str], found: Rankings, lexical: Rankings
) -> tuple[Rankings, Why | None]:
    """An exact name comes first whoever ranks, and lexical hits stand in where nothing was
    found."""
    served: list[Sequence[Hit]] = []
    missed = False
    for query, hits, said in zip(queries, found, lexical, strict=True):
        exact = [hit for hit in said[:1] if key(hit.name) == key(query)]
        missed |= not hits and bool(said)
        rest = [hit for hit in hits if not exact or hit.name != exact[0].name]
        served.append([*exact, *rest] if hits else said)
    return served, "nothing-found" if missed else None
