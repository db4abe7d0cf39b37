"""A platform whose log has a million records: how long it takes to start, to verify, to export, to look back."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import uvloop
from playmolt_cli.local.database import database

from bench import Row
from bench.actions import script_of, seat
from bench.filling import GAME_EVENTS, fill
from bench.load import Measured, open_connections, request
from bench.servers import ROOT, folder, product, spectator_port
from bench.watching import watch

_LOOKED_AT = 100
"""Fewer than the histories that an engine keeps: the second time each is still there."""
_SEATING = 5


class Size(NamedTuple):
    events: int = 1_000_000


WHOLE = Size()
SHORT = Size(2_000)


class Found(NamedTuple):
    """Seconds until a new action is seen by a watcher; how long states of finished games took, first and again."""

    start: float
    first: Measured
    again: Measured


async def _seen(port: int, spectator: int) -> None:
    """Play one action of a new game, and wait until a watcher of it hears."""
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


def started(data: Path, games: list[str]) -> Found:
    """Start `up` on a folder."""
    began = time.perf_counter()
    with product(data) as port:
        uvloop.run(_seen(port, spectator_port(data)))
        start = time.perf_counter() - began
        uvloop.run(_looked_back(port, games[:5]))  # warms up
        first, again = uvloop.run(_looked_back(port, games[-_LOOKED_AT:]))
    return Found(start, first, again)


def _command(data: Path, *words: str) -> float:
    """Seconds that `playmolt log …` takes on a folder, its Postgres started beforehand and not counted."""
    with database(data) as url:
        began = time.perf_counter()
        told = [sys.executable, "-m", "playmolt_cli", "log", *words]
        subprocess.run(told, cwd=ROOT, env={**os.environ, "DATABASE_URL": url}, check=True, capture_output=True)
        return time.perf_counter() - began


def rows(size: Size) -> list[Row]:
    with folder() as data:
        with product(data):
            pass  # makes its Postgres
        with database(data) as url:
            games = uvloop.run(fill(url, size.events))
        return measured(data, games, size.events)


def measured(data: Path, games: list[str], events: int) -> list[Row]:
    found = started(data, games)
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
