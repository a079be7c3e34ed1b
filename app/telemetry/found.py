"""Which tools searches find, which are called, and which queries find none."""

from collections import Counter, OrderedDict
from hashlib import blake2b
from itertools import islice
from secrets import token_bytes
from typing import Any

from app.core.shape import Shape
from app.telemetry.labels import FirstSeen
from app.telemetry.report import LONGEST_TEXT, Report

_TOOLS = 2_000
_CATALOGS = 1_024
_QUERIES = 200
_RANKERS = 8
_SHOWN = 50
_PLACES = ("1", "2", "3", "4", "5", "6+", "missed")


class Found:
    """Bounded: the tools and queries that were seen last. What it holds is below 1 MB."""

    def __init__(self) -> None:
        self._searches = 0
        self._tools: OrderedDict[str, list[int]] = OrderedDict()
        """Times found, times called."""
        self._catalogs: OrderedDict[str, None] = OrderedDict()
        self._ranks: dict[str, Counter[str]] = {}
        self._rankers = FirstSeen(_RANKERS)
        self._unmatched: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._key = token_bytes(16)

    def add(self, report: Report) -> None:
        """One more request."""
        if report.decision == "folded" and report.shape is not None:
            self._know(report.shape)
        for searched in report.answered:
            self._searches += 1
            for name in searched.matched:
                self._counts(name)[0] += 1
            for query in searched.unmatched:
                self._add_unmatched(query if report.captures else self._hashed(query), report.at)
        for call in report.discoveries:
            self._counts(call.name)[1] += 1
            for ranker, rank in call.ranks.items():
                place = _PLACES[rank - 1] if 1 <= rank <= 5 else "6+" if rank else "missed"
                self._ranks.setdefault(self._rankers(ranker), Counter())[place] += 1

    def as_json(self) -> dict[str, Any]:
        """`searches`, `ranks`, `unmatched`, `never_found`, `most_found`."""
        never = [name for name, counts in self._tools.items() if not any(counts)]
        by_found = sorted(self._tools.items(), key=lambda item: -item[1][0])
        most = [(name, found, called) for name, (found, called) in by_found if found][:_SHOWN]
        return {
            "searches": self._searches,
            "ranks": {
                ranker: {place: counts[place] for place in _PLACES}
                for ranker, counts in self._ranks.items()
            },
            "unmatched": [
                {"query": query, "count": count, "last": last}
                for query, (count, last) in reversed(self._unmatched.items())
            ][:_SHOWN],
            "tools_known": len(self._tools),
            "never_found": {"count": len(never), "tools": never[-_SHOWN:]},
            "most_found": [
                {
                    "tool": name,
                    "found": found,
                    "called": called,
                    "share": round(found / self._searches, 3) if self._searches else 0,
                }
                for name, found, called in most
            ],
        }

    def _know(self, shape: Shape) -> None:
        """The tools of a catalog that has not been seen lately, as many as have room: none goes
        for a tool that was only sent, and a known catalog costs nothing."""
        fingerprint = shape.catalog.fingerprint
        if fingerprint in self._catalogs:
            self._catalogs.move_to_end(fingerprint)
            return
        self._catalogs[fingerprint] = None
        while len(self._catalogs) > _CATALOGS:
            self._catalogs.popitem(last=False)
        for name in islice(shape.deferred, _TOOLS - len(self._tools)):
            self._tools.setdefault(name[:LONGEST_TEXT], [0, 0])

    def _counts(self, name: str) -> list[int]:
        name = name[:LONGEST_TEXT]
        counts = self._tools.setdefault(name, [0, 0])
        self._tools.move_to_end(name)
        while len(self._tools) > _TOOLS:
            self._tools.popitem(last=False)
        return counts

    def _add_unmatched(self, query: str, at: float) -> None:
        query = query[:LONGEST_TEXT]
        count, _ = self._unmatched.pop(query, (0, 0.0))
        self._unmatched[query] = (count + 1, at)
        while len(self._unmatched) > _QUERIES:
            self._unmatched.popitem(last=False)

    def _hashed(self, query: str) -> str:
        """Tells a query from others, and nothing else: the key is this process's alone."""
        said = query.encode("utf-8", "surrogatepass")
        return "#" + blake2b(said, key=self._key, digest_size=4).hexdigest()
