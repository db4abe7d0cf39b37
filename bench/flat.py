"""The CPU time of an action in larger installations: with a longer log, more simultaneous games, more replicas.

A large and a small stack run side by side, in interleaved rounds.
"""

import statistics
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import psycopg
import uvloop
from playmolt_cli.local.database import database

from bench import Row
from bench.actions import script_of, seat
from bench.filling import fill
from bench.load import drive, open_connections
from bench.processes import tree_seconds
from bench.servers import folder, processes, product

FEW = 100
REPLICAS = 2
_NO_DEADLINE = {"PLAYMOLT_PHASE_DEADLINE_SECONDS": "3600"}
"""Games stop after their first choices. With the usual deadline, the engine would continue them in a later round."""


class Size(NamedTuple):
    """`many`: numbers of simultaneous games, each with its number of rounds, because seating 50,000 agents takes 90 s.
    `loads`: loads of the replicated stack, as multiples of the single one's. `events`: lengths of the logs that are
    compared with a new log."""

    games: int = 1_000
    rounds: int = 5
    many: tuple[tuple[int, int], ...] = ((1_000, 5), (10_000, 3))
    loads: tuple[int, ...] = (REPLICAS, 1)
    events: tuple[int, ...] = (10_000, 100_000, 1_000_000)


WHOLE = Size()
SHORT = Size(10, 1, (), (REPLICAS,), ())


class Stack(NamedTuple):
    """A platform in the folder `data`, its options, and how its games are played."""

    data: Path
    games: int
    options: tuple[str, ...] = ()
    at_once: int = 0
    """How many games are played at the same time; 0 for all."""
    actions: int = 5
    """Actions of each game; the first five are the first choices of its first round."""
    in_flight: int = 64

    def up(self) -> AbstractContextManager[int]:
        return product(self.data, *self.options, environment=_NO_DEADLINE)

    def cost(self, port: int) -> float:
        """The CPU microseconds of an action in one round."""
        return uvloop.run(_cost(port, self, partial(tree_seconds, *processes(self.data))))


async def _cost(port: int, stack: Stack, spent: Callable[[], float]) -> float:
    connections = await open_connections(port, stack.in_flight)
    scripts = [script_of(game, keys)[: stack.actions] for game, keys in (await seat(connections, stack.games)).items()]
    before, actions = spent(), 0
    at_once = stack.at_once or stack.games
    for start in range(0, stack.games, at_once):
        some = scripts[start : start + at_once]
        plays = [
            [script[place] for place in range(stack.actions) for script in some[number :: stack.in_flight]]
            for number in range(stack.in_flight)
        ]
        measured = await drive(connections, plays)
        assert set(measured.statuses) == {200}, measured.statuses
        actions += sum(measured.statuses.values())
    for connection in connections:
        connection.close()
    return (spent() - before) / actions * 1e6


def beside(more: Stack, less: Stack, rounds: int) -> tuple[list[float], list[float]]:
    """The cost of an action on each of two stacks, by round. `less` follows `more` immediately, because the speed of a
    machine changes over time, and `less` takes less time to seat its agents before it measures."""
    costs: tuple[list[float], list[float]] = ([], [])
    with more.up() as more_port, less.up() as less_port:
        for number in range(rounds + 1):
            for stack, port, found in ((more, more_port, costs[0]), (less, less_port, costs[1])):
                cost = stack.cost(port)
                if number:  # the first warms up
                    found.append(cost)
    return costs


def rows(size: Size) -> Iterator[Row]:
    with folder() as data:
        yield from _breadths(data, size)
        yield from _replicas(data, size)
        yield from _lengths(data, size)


def _breadths(data: Path, size: Size) -> Iterator[Row]:
    for many, rounds in size.many:
        more, less = Stack(data / f"at-once-{many}", many), Stack(data / f"few-{many}", size.games, at_once=FEW)
        yield _row(f"{many:,} games at once, beside {FEW}", *beside(more, less, rounds))


def _replicas(data: Path, size: Size) -> Iterator[Row]:
    """Play whole games: at the first action of each, an engine loads the game and a gateway looks up a key."""
    options = tuple(word for kind in ("engines", "gateways", "spectators") for word in (f"--{kind}", str(REPLICAS)))
    for load in size.loads:
        games, in_flight = size.games // 5 * load, 64 * load
        replicas = Stack(data / f"replicas-{load}", games, options, actions=50, in_flight=in_flight)
        single = Stack(data / f"single-{load}", size.games // 5, actions=50)
        found = beside(replicas, single, size.rounds)
        yield _row(f"{REPLICAS} engines, gateways and spectators at {load} times the load, beside one of each", *found)


def _lengths(data: Path, size: Size) -> Iterator[Row]:
    grown, before = Stack(data / "grown", size.games), 0
    if size.events:
        with grown.up():
            pass  # creates its Postgres
    for events in size.events:
        with database(grown.data) as url:
            uvloop.run(fill(url, events - before))
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("VACUUM (ANALYZE)")  # otherwise Postgres does it during the measurement
        before = events
        new = Stack(data / f"new-{events}", size.games)
        yield _row(f"a log of {events:,} events, beside a new one", *beside(grown, new, size.rounds))


def _row(what: str, ours: list[float], theirs: list[float]) -> Row:
    ratios = sorted(one / other for one, other in zip(ours, theirs, strict=True))
    mine, other = statistics.median(ours), statistics.median(theirs)
    ratio = f"{statistics.median(ratios):.2f} x ({ratios[0]:.2f} to {ratios[-1]:.2f}), wanted 0.8 to 1.2"
    return f"processor time of an action, {what}", f"{mine:.0f} µs", f"{other:.0f} µs", ratio
