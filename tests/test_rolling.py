"""Two replicas behind a real haproxy are restarted under load, and no request notices."""

import pytest

from bench.ops.check import NotRun
from bench.ops.lifecycle import roll


async def test_a_rolling_restart_loses_nothing() -> None:
    try:
        said = await roll(restarts=2)
    except NotRun as reason:
        pytest.skip(str(reason))

    assert "2 restarts" in said
