"""When a server that leads nowhere is left, and how often: 6 seconds of silence, then pauses that double up to 60."""

from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

import pytest
from playmolt_core.bus.moves import CALLER_SECONDS, LONGEST_PAUSE, ServerSwitcher

STEP = 0.25


class Connection:
    """A client whose other servers lead nowhere either."""

    def __init__(self, servers: int) -> None:
        self.is_connected = True
        self.server_pool = [f"nats://127.0.0.1:{number}" for number in range(servers)]
        self.connected_url = urlsplit(self.server_pool[0])
        self.left: list[float] = []
        self.now = 1000.0

    async def force_reconnect(self) -> None:
        self.left.append(self.now)


async def left_in(connection: Connection, seconds: float, heard: Any) -> list[float]:
    """When the server was left, looked at as the loop does, without its waiting."""
    client: Any = connection  # so far as it is used
    looking = ServerSwitcher(client, {"no_engine": heard}, CALLER_SECONDS, clock=lambda: connection.now)
    looking.close()
    until = connection.now + seconds
    while connection.now < until:
        connection.now += STEP
        if reason := looking._cut_off():
            await looking._move(reason)
    return connection.left


@pytest.fixture
def connection() -> Connection:
    return Connection(3)


async def test_pauses_double_up_to_a_minute(connection: Connection) -> None:
    left = await left_in(connection, 600, lambda: 1000.0)
    assert left[0] - 1000 == CALLER_SECONDS
    pauses = [after - before for before, after in pairwise(left)]
    assert 2 * CALLER_SECONDS <= pauses[0] <= 2.4 * CALLER_SECONDS + STEP
    assert pauses == sorted(pauses)
    assert LONGEST_PAUSE <= pauses[-1] <= LONGEST_PAUSE + STEP


async def test_who_is_heard_in_passing_alone_ends_no_silence(connection: Connection) -> None:
    """Two that leave for each other's server hear each other then: with pauses as at first they went on for ever."""
    left = await left_in(connection, 120, lambda: max([1000.0, *connection.left]))
    pauses = [after - before for before, after in pairwise(left)]
    assert pauses[0] >= 2 * CALLER_SECONDS
    assert pauses[1] >= 2 * pauses[0]


async def test_who_hears_enough_stays(connection: Connection) -> None:
    assert await left_in(connection, 60, lambda: connection.now - CALLER_SECONDS + STEP) == []
    assert await left_in(connection, 60, lambda: None) == []


async def test_the_only_server_is_not_left(connection: Connection) -> None:
    del connection.server_pool[1:]
    assert await left_in(connection, 60, lambda: 1000.0) == []


async def test_a_connection_on_its_way_is_not_moved_again(connection: Connection) -> None:
    connection.is_connected = False
    assert await left_in(connection, 60, lambda: 1000.0) == []


async def test_after_a_sound_time_a_silence_is_as_the_first(connection: Connection) -> None:
    silences = [1000.0, 1200.0]

    def heard() -> float | None:
        since = silences[connection.now >= silences[1]]
        return since if connection.now < since + 100 else None

    left = await left_in(connection, 300, heard)
    assert left[0] == silences[0] + CALLER_SECONDS
    assert next(at for at in left if at > silences[1]) == silences[1] + CALLER_SECONDS
