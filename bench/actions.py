"""O/X actions per second, from HTTP over NATS and an engine to a durable commit.

They are compared with handlers that do one INSERT, and with the same hops without work, or with only the log and its
feeds.
"""

import asyncio
import itertools
import json
import statistics
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import NamedTuple

import uvloop

from bench import Row
from bench.beside import Figure, Play, Side
from bench.load import Connection, Measured, drive, open_connections, request
from bench.servers import (
    Checkout,
    ProcessorTime,
    database_url,
    events_behind,
    floor,
    naive,
    platform,
)

_WANTED = {64: ("2.5", "1.3"), 256: ("4", "2.5")}
_keys = itertools.count()


class Size(NamedTuple):
    in_flight: tuple[int, ...] = tuple(_WANTED)
    games: int = 384
    rounds: int = 3


WHOLE = Size()
SHORT = Size((4,), 4, 1)


def _headers(key: str, idempotency: bool = False) -> str:
    extra = f"Idempotency-Key: bench-{next(_keys)}\r\n" if idempotency else ""
    return f"Authorization: Bearer {key}\r\n{extra}"


async def seat(connections: list[Connection], games: int) -> dict[str, list[str]]:
    """Register five agents for each game and let them join; return game id → keys."""
    seats: dict[str, list[str]] = defaultdict(list)
    numbers = iter(range(games * 5))

    async def worker(connection: Connection) -> None:
        for number in numbers:
            status, body = await connection.send(
                request("POST", "/api/agents", json.dumps({"name": f"bench {number}"}).encode())
            )
            assert status == 201, body
            key = json.loads(body)["api_key"]
            status, body = await connection.send(
                request("POST", "/api/games/join", b'{"gameType":"ox"}', _headers(key))
            )
            assert status == 200, body
            seats[json.loads(body)["game_id"]].append(key)

    await asyncio.gather(*(worker(connection) for connection in connections))
    assert all(len(keys) == 5 for keys in seats.values())
    return seats


def script_of(game: str, keys: list[str]) -> list[bytes]:
    """The requests of a whole O/X game: fifty actions, all of which are accepted."""
    path = f"/api/games/{game}/actions"
    script = []
    for number in range(5):
        for seat, key in enumerate(keys):
            body = {
                "type": "first_choice",
                "choice": "OX"[(seat + number) % 2],
                "comment": "a comment of usual length, say",
            }
            script.append(request("POST", path, json.dumps(body).encode(), _headers(key, True)))
        for key in keys:
            switch = {"type": "switch", "use_switch": False, "comment": ""}
            script.append(request("POST", path, json.dumps(switch).encode(), _headers(key, True)))
    return script


async def measure_product(
    port: int, games: int, in_flight: int, around: AbstractContextManager[object] | None = None
) -> Measured:
    """Play whole games. `around` surrounds only the measured actions, after the agents have joined."""
    connections = await open_connections(port, in_flight)
    seats = await seat(connections, games)
    scripts = [script_of(game, keys) for game, keys in seats.items()]
    # Bring the games to different points, as in an arena that is open all day; otherwise all would end together.
    played = [len(script) * place // in_flight for place, script in enumerate(scripts[:in_flight])]
    await drive(connections, [script[:count] for script, count in zip(scripts, played, strict=False)])
    rest = [script[count:] for script, count in zip(scripts, played, strict=False)]
    with around or nullcontext():
        measured = await drive(connections, [*rest, *scripts[in_flight:]])
    for connection in connections:
        connection.close()
    assert set(measured.statuses) == {200}, measured.statuses
    return measured


async def measure_posts(port: int, actions: int, in_flight: int) -> Measured:
    connections = await open_connections(port, in_flight)
    body = json.dumps({"type": "first_choice", "choice": "O", "comment": "a comment of usual length, say"}).encode()
    raw = request("POST", "/api/games/ox-1/actions", body)
    measured = await drive(connections, [[raw] * (actions // in_flight)] * in_flight)
    for connection in connections:
        connection.close()
    assert set(measured.statuses) == {200}, measured.statuses
    return measured


class Compared(NamedTuple):
    """The rounds of each server, and how many events the feeds were behind after each round of the product."""

    product: list[Measured]
    naive: list[Measured]
    tuned: list[Measured]
    hops: list[Measured]
    logged: list[Measured]
    behind: list[int]


def measure(in_flight: int, games: int, rounds: int) -> Compared:
    """Measure the servers in interleaved rounds on one Postgres with fsync, each server warmed up."""
    compared = Compared([], [], [], [], [], [])
    with platform() as (data, port):
        uvloop.run(measure_product(port, in_flight, in_flight))
        for _ in range(rounds):
            compared.product.append(uvloop.run(measure_product(port, games, in_flight)))
            compared.behind.append(events_behind(data))
            for app, runs in (("bench.naive:app", compared.naive), ("bench.tuned:app", compared.tuned)):
                with naive(database_url(data), app=app) as naive_port:
                    runs.append(_measure_warm(naive_port, games * 25, in_flight))
            for kind, runs in (("insert", compared.hops), ("append", compared.logged)):
                with floor(data, database_url(data), kind) as floor_port:
                    runs.append(_measure_warm(floor_port, games * 50, in_flight))
    return compared


def _measure_warm(port: int, actions: int, in_flight: int) -> Measured:
    uvloop.run(measure_posts(port, 50 * in_flight, in_flight))
    return uvloop.run(measure_posts(port, actions, in_flight))


def rows(size: Size) -> list[Row]:
    return [row for in_flight in size.in_flight for row in _rows(in_flight, size)]


def _rows(in_flight: int, size: Size) -> list[Row]:
    ours, theirs, tuned, hops, logged, behind = measure(in_flight, size.games, size.rounds)
    wanted = _WANTED.get(in_flight, ("", ""))
    loaded = f"{in_flight} in flight"
    return [
        rated(f"O/X actions/s, {loaded}, against the naive handler", ours, theirs, wanted[0]),
        rated(f"O/X actions/s, {loaded}, against the tuned one", ours, tuned, wanted[1]),
        rated(f"the hops alone, {loaded}, against the naive handler", hops, theirs),
        rated(f"the hops with log and feeds, one event an action, {loaded}", logged, theirs),
        _timed(f"p50, {loaded}", ours, theirs, 0.5, 0.5),
        _timed(f"p99, {loaded}, against the naive p50 (wanted < 1)", ours, theirs, 0.99, 0.5),
        (f"events the feeds are behind at the end, {loaded}", f"{max(behind):,}", "", ""),
    ]


def sides(size: Size) -> list[Side]:
    return [partial(_side, in_flight, size.games) for in_flight in size.in_flight]


@contextmanager
def _side(in_flight: int, games: int, checkout: Checkout) -> Iterator[Play]:
    loaded = f"{in_flight} in flight"
    with platform(checkout) as (data, port):
        uvloop.run(measure_product(port, in_flight, in_flight))  # warms up

        def play() -> Iterator[Figure]:
            spent = ProcessorTime(data)
            measured = uvloop.run(measure_product(port, games, in_flight, spent))
            yield Figure(f"O/X actions/s, {loaded}", measured.rate)
            for name, share in (("p50", 0.5), ("p99", 0.99)):
                yield Figure(f"{name}, {loaded}", measured.percentile(share) * 1000, "{:.2f} ms")
            cost = spent.seconds / sum(measured.statuses.values()) * 1e6
            yield Figure(f"processor time of an action, {loaded}, all processes", cost, "{:.0f} µs")

        yield play


def rated(what: str, ours: list[Measured], theirs: list[Measured], wanted: str = "") -> Row:
    """A row of median rates and their ratio, with the smallest and the largest ratio of the rounds."""
    ratios = sorted(one.rate / other.rate for one, other in zip(ours, theirs, strict=True))
    mine, other = (statistics.median(run.rate for run in runs) for runs in (ours, theirs))
    spread = f"{mine / other:.2f} x ({ratios[0]:.2f} to {ratios[-1]:.2f}){f', wanted {wanted}' if wanted else ''}"
    return what, f"{mine:,.0f}/s", f"{other:,.0f}/s", spread


def _timed(what: str, ours: list[Measured], theirs: list[Measured], share: float, against: float) -> Row:
    mine, other = (
        statistics.median(run.percentile(at) * 1000 for run in runs) for runs, at in ((ours, share), (theirs, against))
    )
    return what, f"{mine:.1f} ms", f"{other:.1f} ms", f"{mine / other:.2f}"
