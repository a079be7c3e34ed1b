"""The app's side of the tools: five of them, really run on local books that differ in every run.

Each run draws its balances, rates, tracking numbers and notes anew, so an answer that holds what
a tool returned can only come from having called it.
"""

import json
from collections.abc import Callable
from decimal import Decimal
from random import Random

from app.core.codec import Json

_DEPOTS = ("Rotterdam", "Duisburg", "Basel", "Lyon", "Gdansk", "Trieste")
_WORDS = ("crates", "arrive", "late", "while", "the", "crew", "counts", "every", "pallet")


class Desk:
    """The tools by name, over one run's books."""

    def __init__(self, seed: int) -> None:
        chance = Random(seed)
        self._ledger = {account: _entries(chance) for account in ("1200", "4100", "8400")}
        self._rates = {
            ("EUR", currency): _cents(chance.randint(low, 2 * low))
            for currency, low in (("JPY", 12_000), ("SEK", 800), ("INR", 7_000))
        }
        self._orders = {f"SO-{n}": f"TN{chance.randrange(10**9):09}" for n in range(1040, 1050)}
        self._scans = {number: _scan(chance) for number in self._orders.values()}
        self._notes = {f"N-{n}": _note(chance) for n in range(1, 9)}
        self._tools: dict[str, Callable[..., Json]] = {
            "ledger_get_balance": self._balance,
            "fxConvertAmount": self._convert,
            "parcel-find-by-order": self._find_parcel,
            "parcel-track-scans": self._track,
            "notes__measure_note": self._measure,
        }

    def run(self, name: str, arguments: Json) -> str:
        """Run a tool and return its result as JSON text; the model's mistakes are results too."""
        tool = self._tools.get(name)
        if tool is None:
            return _text({"error": f"`{name}` is not installed on this desk"})
        try:
            return _text(tool(**arguments))
        except (KeyError, TypeError, ArithmeticError) as mistake:
            return _text({"error": f"`{name}` cannot run with these arguments: {mistake}"})

    def _balance(self, account: str) -> Json:
        entries = self._ledger[account]
        return {"account": account, "balance": f"{sum(entries)} EUR", "entries": len(entries)}

    def _convert(self, amount: float, source: str, target: str) -> Json:
        rate = self._rates[source, target]
        converted = (Decimal(str(amount)) * rate).quantize(Decimal("0.01"))
        return {"converted": f"{converted} {target}", "rate": str(rate)}

    def _find_parcel(self, order: str) -> Json:
        return {"order": order, "tracking_number": self._orders[order]}

    def _track(self, tracking_number: str) -> Json:
        depot, time = self._scans[tracking_number]
        return {"tracking_number": tracking_number, "depot": depot, "scanned_at": time}

    def _measure(self, note: str) -> Json:
        words = self._notes[note].split()
        letters = sum(map(len, words))
        return {"note": note, "words": len(words), "letters": letters}


def _entries(chance: Random) -> list[Decimal]:
    return [_cents(chance.randint(-900_000, 999_999)) for _ in range(chance.randint(9, 60))]


def _scan(chance: Random) -> tuple[str, str]:
    return chance.choice(_DEPOTS), f"{chance.randrange(24):02}:{chance.randrange(60):02}"


def _note(chance: Random) -> str:
    return " ".join(chance.choices(_WORDS, k=chance.randint(200, 900)))


def _cents(amount: int) -> Decimal:
    return Decimal(amount) / 100


def _text(result: Json) -> str:
    return json.dumps(result, ensure_ascii=False)
