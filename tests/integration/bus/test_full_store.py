"""A JetStream whose store is full of something else: feeds wait and say so, games go on, and with room all is told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import nats
import pytest
from nats.js import JetStreamContext
from nats.js.api import StorageType, StreamConfig
from nats.js.errors import APIError

from tests.integration.bus.test_standing_feeds import TOLD_SECONDS, figures, until_it_says
from tests.integration.conftest import StackFactory
from tests.integration.faults.game import SEATS, Game
from tests.platforms import Stack

SECONDS = 120
STRAY = "STRAY"
MESSAGE = bytes(900_000)


async def _without_end(stream_calls: JetStreamContext) -> None:
    while True:
        await stream_calls.publish("stray", MESSAGE)


@asynccontextmanager
async def filled(up: Stack) -> AsyncIterator[None]:
    """While a stream without bounds has taken all room that there is; it is deleted in the end."""
    connection = await nats.connect(up.run.nats_url, user=up.run.nats_user, password=up.run.nats_password)
    stream_calls = connection.jetstream(timeout=SECONDS)
    await stream_calls.add_stream(StreamConfig(name=STRAY, subjects=["stray"], storage=StorageType.MEMORY))
    with pytest.raises(APIError):
        await _without_end(stream_calls)
    try:
        yield
    finally:
        await stream_calls.delete_stream(STRAY)
        await connection.close()


async def test_a_full_store_holds_feeds_back_and_loses_no_message(stack: StackFactory) -> None:
    up = stack()
    async with Game(up) as game:
        assert (await game.choose(0)).status == 200
        async with filled(up):
            answers = await asyncio.gather(*(game.choose(seat) for seat in range(1, SEATS)))
            assert {answer.status for answer in answers} == {200}
            assert await until_it_says(up, (503, False), TOLD_SECONDS)
            async with asyncio.timeout(SECONDS):
                while figures(up, "playmolt_relay_lag_events")['{copy="events"}'] < SEATS - 1:
                    await asyncio.sleep(0.1)
        assert await until_it_says(up, (200, True), SECONDS)
        records = await game.checked(up.run.database_url)
        assert [record.type for record in records].count("first_choice_submitted") == SEATS
