"""A wait for an event or a tick says which of the two it was."""

import asyncio
import math

import pytest
from playmolt_core.ops.process import set_before_tick, until_tick


async def test_an_event_ends_the_wait() -> None:
    event = asyncio.Event()
    asyncio.get_running_loop().call_soon(event.set)
    assert await set_before_tick(event, math.inf)


async def test_a_tick_ends_the_wait() -> None:
    assert not await set_before_tick(asyncio.Event(), 0.02)


@pytest.mark.parametrize("seconds", [0.25, 0.5, 1.0])
async def test_no_tick_is_further_away_than_the_rhythm_and_what_a_timer_may_be_early(seconds: float) -> None:
    assert 0 < until_tick(seconds) <= seconds + 0.005
