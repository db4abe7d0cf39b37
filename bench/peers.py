"""O/X actions per second beside frameworks that also store each action before they answer: `eventsourcing` behind
FastAPI, and boardgame.io with files, if Node is installed. Each plays its own games, 64 at the same time."""

import json
import shutil
import statistics
import subprocess
import uuid
from pathlib import Path
from typing import NamedTuple

import uvloop

from bench import Row
from bench.actions import measure_product
from bench.load import Measured, drive, open_connections, request
from bench.servers import ROOT, database_url, naive, platform

_WARM_ACTIONS = 5
_WANTED = "wanted 4"
_BODY = b'{"type":"first_choice","choice":"O","comment":"a comment of usual length, say"}'


class Size(NamedTuple):
    """The peers play a third of the games, which takes them as long. `boardgame`: whether to measure boardgame.io."""

    in_flight: int = 64
    games: int = 192
    peer_games: int = 64
    game_actions: int = 50
    rounds: int = 3
    boardgame: bool = True


WHOLE = Size()
SHORT = Size(4, 4, 4, 5, 1, boardgame=False)


async def _measure_sourced(port: int, size: Size, actions: int) -> Measured:
    """Play `size.peer_games` games with `actions` actions each."""
    connections = await open_connections(port, size.in_flight)
    paths = [f"/api/games/{uuid.uuid4()}/actions" for _ in range(size.peer_games)]
    measured = await drive(connections, [[request("POST", path, _BODY)] * actions for path in paths])
    for connection in connections:
        connection.close()
    assert set(measured.statuses) == {200}, measured.statuses
    return measured


def _boardgame(data: Path) -> Path | None:
    """Install boardgame.io from its lock file and return its folder; None without Node."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return None
    place = shutil.copytree(ROOT / "bench" / "boardgame", data / "boardgame")
    subprocess.run([npm, "ci", "--no-audit", "--no-fund", "--silent"], cwd=place, check=True, timeout=600)
    return place


def _moves(place: Path, size: Size) -> float:
    """Moves per second of boardgame.io in one round."""
    node = [shutil.which("node") or "node", "moves.cjs", str(size.in_flight), str(size.game_actions)]
    output = subprocess.run(node, cwd=place, capture_output=True, check=True, timeout=600).stdout
    return float(json.loads(output.splitlines()[-1])["rate"])


def rows(size: Size) -> list[Row]:
    ours: list[float] = []
    sourced: list[float] = []
    moves: list[float] = []
    with platform() as (data, port):
        place, url = _boardgame(data) if size.boardgame else None, database_url(data)
        with naive(url, workers=1, app="bench.sourced:app"):
            pass  # creates its tables with one worker; two would both try and one would fail
        uvloop.run(measure_product(port, size.in_flight, size.in_flight))
        for _ in range(size.rounds):
            ours.append(uvloop.run(measure_product(port, size.games, size.in_flight)).rate)
            with naive(url, app="bench.sourced:app") as peer:
                uvloop.run(_measure_sourced(peer, size, _WARM_ACTIONS))
                sourced.append(uvloop.run(_measure_sourced(peer, size, size.game_actions)).rate)
            moves += [_moves(place, size)] if place else []
    found = [_row("`eventsourcing` behind FastAPI", size, ours, sourced)]
    return [*found, _row("boardgame.io on files", size, ours, moves)] if moves else found


def _row(peer: str, size: Size, ours: list[float], theirs: list[float]) -> Row:
    ratios = sorted(one / other for one, other in zip(ours, theirs, strict=True))
    mine, other = statistics.median(ours), statistics.median(theirs)
    ratio = f"{statistics.median(ratios):.1f} x ({ratios[0]:.1f} to {ratios[-1]:.1f}), {_WANTED}"
    return f"O/X actions/s, {size.in_flight} in flight, against {peer}", f"{mine:,.0f}/s", f"{other:,.0f}/s", ratio
