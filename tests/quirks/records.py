"""The reports in `data/quirks.jsonl`: their address, and the bytes that made the trouble."""

import json
from pathlib import Path
from typing import Any

from tests.builders import FILLER, tool

_PATH = Path(__file__).parent.parent / "data" / "quirks.jsonl"
_RECORDS = map(json.loads, _PATH.read_text().splitlines())
_INPUTS = {record["id"]: record["input"] for record in _RECORDS}

GEO = tool("geo_find", "Find a place on the map.", city="string?")
LEDGER = tool("ledger_post", "Post an entry to the ledger.", n="integer?")
NOW = tool("weather_now", "The weather at this moment.")
LOGS = tool("tool_search_logs", "Search the log files.", q="string?")
TOOLS = [GEO, LEDGER, NOW, LOGS, *FILLER]
"""The tools that the reports call, and enough others to be worth folding."""

DECLARED = ("geo_find", "ledger_post", "weather_now", "tool_search_logs")
"""As a `direct` setting: the calls of the reports are calls of declared tools."""


def sse(identifier: str) -> bytes:
    """The stream of a report whose input is one."""
    return str(_INPUTS[identifier]).encode()


def script(identifier: str) -> Any:
    """The input of a report that is JSON."""
    return json.loads(_INPUTS[identifier])
