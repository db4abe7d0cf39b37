"""The time from an action until a watcher of its game receives it, beside the time until the action is answered: 1,000
actions per second, and every game has a watcher."""

import asyncio
import itertools
import json
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, cast

import msgspec
import uvloop

from bench import Row
from bench.actions import script_of, seat
from bench.beside import Figure, Play, Side
from bench.load import Connection, Measured, open_connections
from bench.servers import Checkout, platform, spectator_port, until_fed

ACTIONS_A_SECOND = 1_000
_SEATING = 8
_LONG = 126
_HEARD_SECONDS = 180
"""How long to wait for an event: a relay fills its streams when it starts."""


class Size(NamedTuple):
    games: int = 100
    rounds: int = 3


WHOLE = Size()
SHORT = Size(8, 1)


class _Versioned(msgspec.Struct):
    version: int = 0


_version_of = msgspec.json.Decoder(_Versioned).decode


class Watcher(asyncio.Protocol):
    """Records the time at which each version of one game arrives."""

    def __init__(self, game: str) -> None:
        self._game = game
        self._buffer = b""
        self.ready = asyncio.get_running_loop().create_future()
        self.came: dict[int, float] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        head = f"GET /ws/games/{self._game} HTTP/1.1\r\nHost: bench\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        self.transport.write(
            f"{head}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
        )

    async def hears(self, *versions: int) -> None:
        """Wait until these versions have arrived."""
        async with asyncio.timeout(_HEARD_SECONDS):
            while not self.came.keys() >= set(versions):  # noqa: ASYNC110 -- what it waits for comes over a socket
                await asyncio.sleep(0.005)

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        self._buffer += data
        if not self.ready.done():
            _, gap, rest = self._buffer.partition(b"\r\n\r\n")
            if not gap:
                return
            self._buffer = rest
            self.ready.set_result(None)
        while len(self._buffer) >= 2:
            size, head = self._buffer[1], 2
            if size == _LONG:
                size, head = int.from_bytes(self._buffer[2:4], "big"), 4
            if len(self._buffer) < head + size:
                return
            frame, self._buffer = self._buffer[head : head + size], self._buffer[head + size :]
            if frame[:1] == b"{":
                self.came.setdefault(_version_of(frame).version, now)


async def watch(port: int, games: list[str]) -> dict[str, Watcher]:
    loop = asyncio.get_running_loop()
    watchers = {}
    for game in games:
        _, watchers[game] = await loop.create_connection(partial(Watcher, game), "127.0.0.1", port)
    await asyncio.gather(*(watcher.ready for watcher in watchers.values()))
    return watchers


class Round(NamedTuple):
    """The times of one round: from action to answer, from action to watcher, and from answer to watcher."""

    answers: Measured
    feeds: Measured
    lags: Measured


async def _play(
    connection: Connection, script: list[bytes], watcher: Watcher, times: Iterator[float], found: Round
) -> None:
    """Send each action at its time; afterwards note when the watcher received each."""
    sent: dict[int, tuple[float, float]] = {}
    for at, raw in zip(times, script, strict=False):
        await asyncio.sleep(max(0.0, at - time.perf_counter()))
        begun = time.perf_counter()
        status, body = await connection.send(raw)
        assert status == 200, body
        sent[json.loads(body)["version"]] = begun, time.perf_counter()
    await watcher.hears(*sent)
    for version, (begun, answered) in sent.items():
        found.answers.latencies.append(answered - begun)
        found.feeds.latencies.append(watcher.came[version] - begun)
        found.lags.latencies.append(watcher.came[version] - answered)


async def measure(port: int, spectator: int, games: int) -> Round:
    connections = await open_connections(port, games)
    seats = await seat(connections[:_SEATING], games)
    watchers = await watch(spectator, list(seats))
    found = Round(Measured(), Measured(), Measured())
    start = time.perf_counter()
    plays = []
    for number, (connection, (game, keys)) in enumerate(zip(connections, seats.items(), strict=True)):
        times = itertools.count(start + number / ACTIONS_A_SECOND, games / ACTIONS_A_SECOND)
        plays.append(_play(connection, script_of(game, keys), watchers[game], times, found))
    await asyncio.gather(*plays)
    for connection in connections:
        connection.close()
    for watcher in watchers.values():
        watcher.transport.close()
    return found


def rows(size: Size) -> list[Row]:
    with platform() as (data, port):
        spectator = spectator_port(data)
        uvloop.run(measure(port, spectator, size.games))  # warms up
        rounds = [uvloop.run(measure(port, spectator, size.games)) for _ in range(size.rounds)]
    return [_row(name, share, rounds, wanted) for name, share, wanted in (("p50", 0.5, ""), ("p99", 0.99, "1.3"))]


def sides(size: Size) -> list[Side]:
    return [partial(_side, size.games)]


@contextmanager
def _side(games: int, checkout: Checkout) -> Iterator[Play]:
    with platform(checkout) as (data, port):
        spectator = spectator_port(data)
        uvloop.run(measure(port, spectator, games))  # warms up

        def play() -> Iterator[Figure]:
            until_fed(data)
            found = uvloop.run(measure(port, spectator, games))
            for name, share in (("p50", 0.5), ("p99", 0.99)):
                for what, measured in (
                    ("to its answer", found.answers),
                    ("from its answer to its watcher", found.lags),
                ):
                    milliseconds = measured.percentile(share) * 1000
                    yield Figure(f"{name} of an action {what}, 1,000 actions/s", milliseconds, "{:.2f} ms")

        yield play


def _row(name: str, share: float, rounds: list[Round], wanted: str) -> Row:
    answers, feeds = (statistics.median(one[side].percentile(share) for one in rounds) * 1000 for side in (0, 1))
    ratio = statistics.median(one.feeds.percentile(share) / one.answers.percentile(share) for one in rounds)
    what = f"{name} from an action to its watcher, 1,000 actions/s, beside the answer"
    return what, f"{feeds:.1f} ms", f"{answers:.1f} ms", f"{ratio:.2f} x{f' (wanted {wanted})' if wanted else ''}"
