"""A platform whose log has a million records: the time to start, to verify, to export and to read past states."""

import json
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import uvloop
from playmolt_cli.local.database import database

from bench import Row
from bench.actions import script_of, seat
from bench.beside import Figure, Play, Side
from bench.filling import GAME_EVENTS, fill
from bench.load import Measured, drive, open_connections, request
from bench.processes import tree_seconds
from bench.servers import (
    HERE,
    Checkout,
    folder,
    positions,
    processes,
    product,
    spectator_port,
    until_fed,
    until_settled,
)
from bench.watching import watch

_LOOKED_AT = 100
"""Number of games whose past states are read twice. An engine keeps more histories, so it has each the second time."""
_SEATING = 5
_IN_FLIGHT = 64


class Size(NamedTuple):
    """`played`: number of events that are played through the gateway when checkouts are compared."""

    events: int = 1_000_000
    played: int = 200_000


WHOLE = Size()
SHORT = Size(2_000, 100)


class Found(NamedTuple):
    """Seconds until a watcher sees a new action; times to read states of finished games, the first and second time."""

    start: float
    first: Measured
    again: Measured


async def _seen(port: int, spectator: int) -> None:
    """Play one action of a new game and wait until a watcher receives it."""
    connections = await open_connections(port, _SEATING)
    [(game, keys)] = (await seat(connections, 1)).items()
    watchers = await watch(spectator, [game])
    status, body = await connections[0].send(script_of(game, keys)[0])
    assert status == 200, body
    await watchers[game].hears(json.loads(body)["version"])
    watchers[game].transport.close()
    for connection in connections:
        connection.close()


async def _looked_back(port: int, games: list[str]) -> tuple[Measured, Measured]:
    [connection] = await open_connections(port, 1)
    told = []
    for _ in range(2):
        measured = Measured()
        for number, game in enumerate(games):
            began = time.perf_counter()
            path = f"/api/games/{game}/state?at={1 + number % GAME_EVENTS}"
            status, body = await connection.send(request("GET", path))
            measured.latencies.append(time.perf_counter() - began)
            assert status == 200, body
        told.append(measured)
    connection.close()
    return told[0], told[1]


@contextmanager
def started(data: Path, games: list[str], checkout: Checkout = HERE) -> Iterator[Found]:
    """Start `up` on a folder; it runs until the context ends."""
    began = time.perf_counter()
    with product(data, checkout=checkout) as port:
        uvloop.run(_seen(port, spectator_port(data)))
        start = time.perf_counter() - began
        until_settled(data)
        uvloop.run(_looked_back(port, games[:5]))  # warms up
        first, again = uvloop.run(_looked_back(port, games[-_LOOKED_AT:]))
        yield Found(start, first, again)


def _command(data: Path, *words: str) -> float:
    """Seconds of `playmolt log …` on a folder, without the start of its Postgres."""
    with database(data) as url:
        began = time.perf_counter()
        HERE.playmolt("log", *words, environment={"DATABASE_URL": url})
        return time.perf_counter() - began


def rows(size: Size) -> list[Row]:
    with folder() as data:
        with product(data):
            pass  # creates its Postgres
        with database(data) as url:
            games = uvloop.run(fill(url, size.events))
        return measured(data, games, size.events)


def measured(data: Path, games: list[str], events: int) -> list[Row]:
    with started(data, games) as found:
        pass
    verify = _command(data, "verify", "--json")
    export = _command(data, "export", "--format", "parquet", "--out", str(data / "log.parquet"))
    return [
        (f"from `up` on {events:,} events to an action that is seen", f"{found.start:.1f} s", "", "wanted below 10 s"),
        ("`state?at=` of a finished game, p50", *_looked(found, 0.5)),
        ("`state?at=` of a finished game, p99", *_looked(found, 0.99)),
        (f"`log verify` of {events:,} events", f"{events / verify:,.0f}/s", "", "wanted 250,000"),
        (f"`log export` of {events:,} events as Parquet", f"{events / export:,.0f}/s", "", "wanted 200,000"),
    ]


def _looked(found: Found, share: float) -> tuple[str, str, str]:
    first, again = (one.percentile(share) * 1000 for one in (found.first, found.again))
    return f"{first:.1f} ms", f"{again:.1f} ms when asked again", "wanted below 5 ms"


def sides(size: Size) -> list[Side]:
    return [partial(_side, size)]


@contextmanager
def _side(size: Size, checkout: Checkout) -> Iterator[Play]:
    with folder() as data:
        with product(data, checkout=checkout) as port:
            games = uvloop.run(_played(port, -(-size.played // GAME_EVENTS)))
            until_fed(data)

        def play() -> Iterator[Figure]:
            with started(data, games, checkout) as found:
                until_fed(data)
                yield Figure("from `up` on a grown log to an action that is seen", found.start, "{:.1f} s")
                yield Figure("`state?at=` of a finished game, p50", found.first.percentile(0.5) * 1000, "{:.1f} ms")
                yield from _commands(data, checkout)

        yield play


async def _played(port: int, games: int) -> list[str]:
    """Play whole games through the gateway, because the tables of another checkout may differ; return the games."""
    connections = await open_connections(port, _IN_FLIGHT)
    seats = await seat(connections, games)
    done = await drive(connections, [script_of(game, keys) for game, keys in seats.items()])
    assert set(done.statuses) == {200}, done.statuses
    for connection in connections:
        connection.close()
    return list(seats)


def _commands(data: Path, checkout: Checkout) -> Iterator[Figure]:
    """Measure `playmolt log …` while the folder's `up` is idle."""

    def spent() -> float:
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return tree_seconds(*processes(data)) + ended.ru_utime + ended.ru_stime

    events = positions(data)["log"]
    export = ("export", "--format", "parquet", "--out", data / "log.parquet")
    for name, words in (("verify", ("verify", "--json")), ("export", export)):
        began, used = time.perf_counter(), spent()
        checkout.playmolt("log", *words, "--data", data)
        yield Figure(f"`log {name}`, events", events / (time.perf_counter() - began))
        yield Figure(f"processor time of `log {name}` per event", (spent() - used) / events * 1e6, "{:.1f} µs")
    (data / "log.parquet").unlink()
