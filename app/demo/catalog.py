"""The catalog: 300 function tools of 29 invented services, the same on every machine.

The services with short tools come first, so the beginning of the catalog is what a small app would
declare, and the whole of it what a company's gateway collects over the years.
"""

from functools import cache
from itertools import chain

from app.core.codec import Json
from app.demo import services

SMALL = ("ledger", "fx", "parcel", "notes", "weather", "clock", "units", "contacts", "reminders")
LARGE = (
    *("github", "jira", "calendar", "crm", "payments", "filesystem", "sql", "monitoring"),
    *("shipping", "mail", "chat", "kubernetes", "storage", "helpdesk", "people", "analytics"),
    *("inventory", "invoicing", "travel", "maps"),
)


def catalog(size: int) -> list[Json]:
    """The first `size` tools."""
    tools = _everything()
    if not 0 < size <= len(tools):
        raise ValueError(f"The catalog has 1 to {len(tools)} tools, not {size}")
    return list(tools[:size])


@cache
def _everything() -> tuple[Json, ...]:
    return tuple(chain.from_iterable(services.tools(service) for service in (*SMALL, *LARGE)))
