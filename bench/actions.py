"""O/X actions a second through HTTP, NATS, engine and durable commit, beside a handler that does one INSERT and beside
the same hops with nothing done on them, or nothing but the log and its feeds."""

import asyncio
import itertools
import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import uvloop

from bench.load import Connection, Measured, drive, open_connections, request
from bench.servers import database_url, events_behind, floor, folder, naive, product

IN_FLIGHT = 64
GAMES = 384
ROUNDS = 3
_keys = itertools.count()


def _headers(key: str, idempotency: bool = False) -> str:
    extra = f"Idempotency-Key: bench-{next(_keys)}\r\n" if idempotency else ""
    return f"Authorization: Bearer {key}\r\n{extra}"


async def _seat(connections: list[Connection], games: int) -> dict[str, list[str]]:
    """Register five agents a game and let them join; gives game id → keys."""
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


def _script(game: str, keys: list[str]) -> list[bytes]:
    """A whole O/X game: fifty actions, every one accepted."""
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


async def _measure_product(port: int, games: int) -> Measured:
    connections = await open_connections(port, IN_FLIGHT)
    seats = await _seat(connections, games)
    scripts = [_script(game, keys) for game, keys in seats.items()]
    # Games stand at different points, as in an arena that is open all day: begun at once they would all end at once.
    played = [len(script) * place // IN_FLIGHT for place, script in enumerate(scripts[:IN_FLIGHT])]
    await drive(connections, [script[:count] for script, count in zip(scripts, played, strict=False)])
    rest = [script[count:] for script, count in zip(scripts, played, strict=False)]
    measured = await drive(connections, [*rest, *scripts[IN_FLIGHT:]])
    for connection in connections:
        connection.close()
    assert set(measured.statuses) == {200}, measured.statuses
    return measured


async def _measure_posts(port: int, actions: int) -> Measured:
    connections = await open_connections(port, IN_FLIGHT)
    body = json.dumps({"type": "first_choice", "choice": "O", "comment": "a comment of usual length, say"}).encode()
    raw = request("POST", "/api/games/ox-1/actions", body)
    measured = await drive(connections, [[raw] * (actions // IN_FLIGHT)] * IN_FLIGHT)
    for connection in connections:
        connection.close()
    assert set(measured.statuses) == {200}, measured.statuses
    return measured


class Compared(NamedTuple):
    """The rounds of each, and how many events the feeds were behind when the last action was answered."""

    product: list[Measured]
    naive: list[Measured]
    hops: list[Measured]
    logged: list[Measured]
    behind: list[int]


def measure(games: int = GAMES, rounds: int = ROUNDS) -> Compared:
    """Interleaved rounds on one Postgres with fsync on, each warm."""
    compared = Compared([], [], [], [], [])
    with folder() as data, product(Path(data)) as port:
        uvloop.run(_measure_product(port, 64))
        for _ in range(rounds):
            compared.product.append(uvloop.run(_measure_product(port, games)))
            compared.behind.append(events_behind(data))
            with naive(database_url(data)) as naive_port:
                compared.naive.append(_measure_warm(naive_port, games * 25))
            for kind, runs in (("insert", compared.hops), ("append", compared.logged)):
                with floor(data, database_url(data), kind) as floor_port:
                    runs.append(_measure_warm(floor_port, games * 50))
    return compared


def _measure_warm(port: int, actions: int) -> Measured:
    uvloop.run(_measure_posts(port, 3200))
    return uvloop.run(_measure_posts(port, actions))


def rows() -> list[tuple[str, str, str, str]]:
    ours, theirs, hops, logged, behind = measure()

    def middle(runs: list[Measured], what: str) -> float:
        values = {
            "rate": [run.rate for run in runs],
            "p50": [run.percentile(0.5) * 1000 for run in runs],
            "p99": [run.percentile(0.99) * 1000 for run in runs],
        }
        return statistics.median(values[what])

    rate = middle(ours, "rate") / middle(theirs, "rate")
    p99 = middle(ours, "p99") / middle(theirs, "p50")
    return [
        (
            f"O/X actions/s, {IN_FLIGHT} in flight",
            f"{middle(ours, 'rate'):,.0f}/s",
            f"{middle(theirs, 'rate'):,.0f}/s",
            f"{rate:.1f} x (wanted 3)",
        ),
        (
            "p50",
            f"{middle(ours, 'p50'):.1f} ms",
            f"{middle(theirs, 'p50'):.1f} ms",
            f"{middle(ours, 'p50') / middle(theirs, 'p50'):.2f}",
        ),
        (
            "p99 (against the baseline's p50)",
            f"{middle(ours, 'p99'):.1f} ms",
            f"{middle(theirs, 'p99'):.1f} ms",
            f"{p99:.2f} (wanted < 1)",
        ),
        (
            "the hops alone, against the baseline",
            f"{middle(hops, 'rate'):,.0f}/s",
            f"{middle(theirs, 'rate'):,.0f}/s",
            f"{middle(hops, 'rate') / middle(theirs, 'rate'):.1f} x",
        ),
        (
            "the hops with log and feeds, one event an action",
            f"{middle(logged, 'rate'):,.0f}/s",
            f"{middle(theirs, 'rate'):,.0f}/s",
            f"{middle(logged, 'rate') / middle(theirs, 'rate'):.1f} x",
        ),
        ("events the feeds are behind at the end", f"{max(behind):,}", "", ""),
    ]
