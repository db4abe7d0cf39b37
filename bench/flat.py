"""What an action costs the processors where there is more of everything: a longer log, more games at once. Two stacks
side by side, their rounds interleaved."""

import json
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path

import uvloop
from playmolt_cli.local.database import database

from bench.actions import script_of, seat
from bench.filling import fill
from bench.load import drive, open_connections
from bench.processes import tree_seconds
from bench.servers import folder, product

EVENTS = (100_000, 1_000_000)
"""Beside a log that is new."""
AT_ONCE = (100, 1_000)
GAMES = 1_000
ROUNDS = 5
_IN_FLIGHT = 64
_FIRST_CHOICES = 5


async def _cost(port: int, at_once: int, spent: Callable[[], float]) -> float:
    """Processor microseconds of an action: the first choices of as many games, played by so many at once."""
    connections = await open_connections(port, _IN_FLIGHT)
    scripts = [script_of(game, keys)[:_FIRST_CHOICES] for game, keys in (await seat(connections, GAMES)).items()]
    before, actions = spent(), 0
    for start in range(0, GAMES, at_once):
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


def _spent(data: Path) -> Callable[[], float]:
    return partial(tree_seconds, int(json.loads((data / "run.json").read_text("utf-8"))["pid"]))


def beside(new: Path, grown: Path, rounds: int = ROUNDS) -> tuple[list[float], list[float]]:
    """What an action costs on each of two folders, the second of which holds a log already."""
    ours: list[float] = []
    theirs: list[float] = []
    with product(new) as new_port, product(grown) as grown_port:
        for number in range(rounds + 1):
            for port, data, costs in ((new_port, new, theirs), (grown_port, grown, ours)):
                cost = uvloop.run(_cost(port, GAMES, _spent(data)))
                if number:  # the first warms up
                    costs.append(cost)
    return ours, theirs


def breadths(data: Path, rounds: int = ROUNDS) -> tuple[list[float], list[float]]:
    """What an action costs with many games at once, and with few."""
    many: list[float] = []
    few: list[float] = []
    with product(data) as port:
        for number in range(rounds + 1):
            for at_once, costs in ((min(AT_ONCE), few), (max(AT_ONCE), many)):
                cost = uvloop.run(_cost(port, at_once, _spent(data)))
                if number:
                    costs.append(cost)
    return many, few


def rows() -> list[tuple[str, str, str, str]]:
    told = []
    with folder() as data:
        told.append(_row(f"{max(AT_ONCE):,} games at once, beside {min(AT_ONCE)}", *breadths(data / "few")))
        with product(data / "grown"):
            pass  # makes its Postgres
        before = 0
        for events in EVENTS:
            with database(data / "grown") as url:
                uvloop.run(fill(url, events - before))
            before = events
            told.append(
                _row(f"a log of {events:,} events, beside a new one", *beside(data / f"{events}", data / "grown"))
            )
    return told


def _row(what: str, ours: list[float], theirs: list[float]) -> tuple[str, str, str, str]:
    ratios = sorted(one / other for one, other in zip(ours, theirs, strict=True))
    mine, other = statistics.median(ours), statistics.median(theirs)
    ratio = f"{statistics.median(ratios):.2f} x ({ratios[0]:.2f} to {ratios[-1]:.2f}), wanted 0.8 to 1.2"
    return f"processor time of an action, {what}", f"{mine:.0f} µs", f"{other:.0f} µs", ratio
