"""What an action costs the processors where there is more of everything: a longer log, more games at once, more
replicas. Two stacks side by side, their rounds interleaved."""

import json
import statistics
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import uvloop
from playmolt_cli.local.database import database

from bench.actions import script_of, seat
from bench.filling import fill
from bench.load import drive, open_connections
from bench.processes import tree_seconds
from bench.servers import folder, product

EVENTS = (10_000, 100_000, 1_000_000)
"""Beside a log that is new."""
ROUNDS = 5
FEW = 100
MANY = {1_000: ROUNDS, 10_000: 3}
"""How many rounds each; seating 50,000 agents takes a minute and a half."""
REPLICAS = 2
GAMES = 1_000
_IN_FLIGHT = 64
_FIRST_CHOICES = 5
_NO_DEADLINE = {"PLAYMOLT_PHASE_DEADLINE_SECONDS": "3600"}
"""Games are left after their first choices. At their deadline the engine would play them on in a later round."""


Row = tuple[str, str, str, str]


class Stack(NamedTuple):
    """A folder of `up`, the options it is started with, and how many of its games are played at once."""

    data: Path
    options: tuple[str, ...] = ()
    at_once: int = GAMES

    def up(self) -> AbstractContextManager[int]:
        return product(self.data, *self.options, environment=_NO_DEADLINE)

    def cost(self, port: int) -> float:
        """Processor microseconds of an action, over a round of first choices."""
        run = json.loads((self.data / "run.json").read_text("utf-8"))
        return uvloop.run(_cost(port, self.at_once, partial(tree_seconds, int(run["pid"]))))


async def _cost(port: int, at_once: int, spent: Callable[[], float]) -> float:
    games = max(GAMES, at_once)
    connections = await open_connections(port, _IN_FLIGHT)
    scripts = [script_of(game, keys)[:_FIRST_CHOICES] for game, keys in (await seat(connections, games)).items()]
    before, actions = spent(), 0
    for start in range(0, games, at_once):
        some = scripts[start : start + at_once]
        plays = [
            [script[place] for place in range(_FIRST_CHOICES) for script in some[number::_IN_FLIGHT]]
            for number in range(_IN_FLIGHT)
        ]
        measured = await drive(connections, plays)
        assert set(measured.statuses) == {200}, measured.statuses
        actions += sum(measured.statuses.values())
    for connection in connections:
        connection.close()
    return (spent() - before) / actions * 1e6


def beside(more: Stack, less: Stack, rounds: int = ROUNDS) -> tuple[list[float], list[float]]:
    """What an action costs on each of two stacks. The one that takes less to seat comes right behind the other: a machine
    is faster at one time than at another, and what is compared should lie close together."""
    costs: tuple[list[float], list[float]] = ([], [])
    with more.up() as more_port, less.up() as less_port:
        for number in range(rounds + 1):
            for stack, port, found in ((more, more_port, costs[0]), (less, less_port, costs[1])):
                cost = stack.cost(port)
                if number:  # the first warms up
                    found.append(cost)
    return costs


def rows() -> Iterator[Row]:
    with folder() as data:
        yield from _breadths(data)
        yield _replicas(data)
        yield from _lengths(data)


def _breadths(data: Path) -> Iterator[Row]:
    for many, rounds in MANY.items():
        more, less = Stack(data / f"at-once-{many}", at_once=many), Stack(data / f"few-{many}", at_once=FEW)
        yield _row(f"{many:,} games at once, beside {FEW}", *beside(more, less, rounds))


def _replicas(data: Path) -> Row:
    options = tuple(word for kind in ("engines", "gateways", "spectators") for word in (f"--{kind}", str(REPLICAS)))
    found = beside(Stack(data / "replicas", options), Stack(data / "single"))
    return _row(f"{REPLICAS} engines, gateways and spectators, beside one of each", *found)


def _lengths(data: Path) -> Iterator[Row]:
    grown, before = Stack(data / "grown"), 0
    with grown.up():
        pass  # makes its Postgres
    for events in EVENTS:
        with database(grown.data) as url:
            uvloop.run(fill(url, events - before))
        before = events
        new = Stack(data / f"new-{events}")
        yield _row(f"a log of {events:,} events, beside a new one", *beside(grown, new))


def _row(what: str, ours: list[float], theirs: list[float]) -> Row:
    ratios = sorted(one / other for one, other in zip(ours, theirs, strict=True))
    mine, other = statistics.median(ours), statistics.median(theirs)
    ratio = f"{statistics.median(ratios):.2f} x ({ratios[0]:.2f} to {ratios[-1]:.2f}), wanted 0.8 to 1.2"
    return f"processor time of an action, {what}", f"{mine:.0f} µs", f"{other:.0f} µs", ratio
