"""Values of labels, from sets that are closed: each value is a time series for ever, so what a
client can make up may not become one."""

from collections.abc import Iterable

OTHER = "other"


class Closed:
    """A set that is given, as far as it has room. Anything else is `other`."""

    def __init__(self, values: Iterable[str], most: int) -> None:
        self._values: dict[str, None] = {}
        self._most = most
        self.admit(values)

    def admit(self, values: Iterable[str]) -> None:
        """Take these in too. None is ever let go: its series would stay."""
        for value in values:
            if len(self._values) < self._most:
                self._values.setdefault(value)

    def __call__(self, value: str) -> str:
        """The value as a label."""
        return value if value in self._values else OTHER


class FirstSeen(Closed):
    """A set of the first values that come, which is to be given only such as have proved to be
    real: a reason in our own words, a model that an upstream has answered for."""

    def __init__(self, most: int) -> None:
        super().__init__((), most)

    def known(self, value: str) -> str:
        """The value as a label, where it has been seen."""
        return super().__call__(value)

    def __call__(self, value: str) -> str:
        if value not in self._values and len(self._values) < self._most:
            self._values[value] = None
        return self.known(value)


def code_class(status: int) -> str:
    """`2xx`; `none` where the client hung up before there was a status."""
    return f"{status // 100}xx" if 100 <= status < 600 else "none"
