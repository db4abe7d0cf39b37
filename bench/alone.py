"""One action at a time: its response time and its CPU time in all processes, beside the naive handler, which has its
own Postgres."""

import os
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import uvloop
from playmolt_cli.local.embedded import Postgres

from bench import Row
from bench.actions import measure_posts, script_of, seat
from bench.beside import Figure, Play, Side
from bench.load import Measured, drive, open_connections
from bench.processes import tree_seconds
from bench.servers import Checkout, naive, platform, processes

_SEATING = 8


class Size(NamedTuple):
    games: int = 20
    rounds: int = 5
    warm: int = 4


WHOLE = Size()
SHORT = Size(1, 1, 1)


class Alone(NamedTuple):
    """One round: the response times, and the CPU milliseconds of an action."""

    measured: Measured
    cost: float


async def _measure_product(port: int, games: int, spent: Callable[[], float]) -> Alone:
    connections = await open_connections(port, _SEATING)
    scripts = [script_of(game, keys) for game, keys in (await seat(connections, games)).items()]
    for connection in connections[1:]:
        connection.close()
    before = spent()
    measured = await drive(connections[:1], [[raw for script in scripts for raw in script]])
    connections[0].close()
    assert set(measured.statuses) == {200}, measured.statuses
    return _alone(measured, spent() - before)


def _measure_naive(port: int, actions: int, spent: Callable[[], float]) -> Alone:
    before = spent()
    return _alone(uvloop.run(measure_posts(port, actions, 1)), spent() - before)


def _alone(measured: Measured, seconds: float) -> Alone:
    return Alone(measured, seconds / len(measured.latencies) * 1000)


def measure(size: Size) -> tuple[list[Alone], list[Alone]]:
    """Measure the product, without its joins, and the naive handler in interleaved rounds."""
    ours: list[Alone] = []
    theirs: list[Alone] = []
    with platform() as (data, port), Postgres(data / "naive") as postgres:
        up = processes(data)

        def of_product() -> float:
            return tree_seconds(*up)

        def of_naive() -> float:
            return tree_seconds(os.getpid()) - tree_seconds(*up)

        with naive(postgres.url) as naive_port:
            uvloop.run(_measure_product(port, size.warm, of_product))
            _measure_naive(naive_port, size.warm * 50, of_naive)
            for _ in range(size.rounds):
                ours.append(uvloop.run(_measure_product(port, size.games, of_product)))
                theirs.append(_measure_naive(naive_port, size.games * 50, of_naive))
    return ours, theirs


def rows(size: Size) -> list[Row]:
    ours, theirs = measure(size)
    mine, other = (min(one.measured.percentile(0.5) for one in runs) * 1000 for runs in (ours, theirs))
    cost, their_cost = (statistics.median(one.cost for one in runs) for runs in (ours, theirs))
    return [
        ("p50 of an action alone, quietest round", f"{mine:.2f} ms", f"{other:.2f} ms", _times(mine / other, 1.2)),
        ("processor time of it, all processes", f"{cost:.2f} ms", f"{their_cost:.2f} ms", _times(cost / their_cost, 2)),
    ]


def sides(size: Size) -> list[Side]:
    return [partial(_side, size)]


@contextmanager
def _side(size: Size, checkout: Checkout) -> Iterator[Play]:
    with platform(checkout) as (data, port):
        spent = partial(tree_seconds, *processes(data))
        uvloop.run(_measure_product(port, size.warm, spent))

        def play() -> Iterator[Figure]:
            measured, cost = uvloop.run(_measure_product(port, size.games, spent))
            yield Figure("p50 of an action alone", measured.percentile(0.5) * 1000, "{:.2f} ms")
            yield Figure("processor time of it, all processes", cost, "{:.2f} ms")

        yield play


def _times(ratio: float, wanted: float) -> str:
    return f"{ratio:.2f} x (wanted {wanted:g})"
