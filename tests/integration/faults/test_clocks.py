"""A process on a machine whose clock is minutes off."""

import asyncio
from pathlib import Path

import pytest

from tests.integration.faults.game import SEATS, Game
from tests.integration.platform.replica import Replica
from tests.platforms import Stack

CLOCK = """
import os
import time

_time, _time_ns, _off = time.time, time.time_ns, int(os.environ["CLOCK_OFF"])
time.time = lambda: _time() + _off
time.time_ns = lambda: _time_ns() + _off * 10**9
"""
"""What Python runs before anything else when it finds it as `sitecustomize`."""


@pytest.mark.parametrize("minutes", [-10, 10])
async def test_a_gateway_whose_clock_is_off_serves_as_any_other(running: Stack, tmp_path: Path, minutes: int) -> None:
    """Its calls say until when somebody waits; engines do not hold that against their own clocks."""
    (tmp_path / "sitecustomize.py").write_text(CLOCK, "utf-8")
    shifted = {"PYTHONPATH": str(tmp_path), "CLOCK_OFF": str(60 * minutes)}
    with Replica(running, "gateway-1", "playmolt_gateway", "PLAYMOLT_PORT", **shifted) as gateway:
        async with Game(running, gateway.url) as game:
            answers = await asyncio.gather(*(game.choose(seat) for seat in range(SEATS)))
            assert {act.code for act in answers} == {""}
            await game.checked(running.run.database_url)
