"""O/X actions a second beside peers that promise something: `eventsourcing` behind FastAPI, and boardgame.io on files
where Node is there. Each plays games of its own, 64 at once, and answers when an action is stored."""

import json
import shutil
import statistics
import subprocess
import uuid
from pathlib import Path

import uvloop

from bench.actions import measure_product
from bench.load import Measured, drive, open_connections, request
from bench.servers import ROOT, database_url, folder, naive, product

IN_FLIGHT = 64
GAMES = 192
PEER_GAMES = 64
"""A peer takes as long for a third of them."""
GAME_ACTIONS = 50
_WARM_ACTIONS = 5
ROUNDS = 3
_WANTED = "wanted 4"
_BODY = b'{"type":"first_choice","choice":"O","comment":"a comment of usual length, say"}'


async def _measure_sourced(port: int, actions: int) -> Measured:
    """Play games of so many actions each."""
    connections = await open_connections(port, IN_FLIGHT)
    paths = [f"/api/games/{uuid.uuid4()}/actions" for _ in range(PEER_GAMES)]
    measured = await drive(connections, [[request("POST", path, _BODY)] * actions for path in paths])
    for connection in connections:
        connection.close()
    assert set(measured.statuses) == {200}, measured.statuses
    return measured


def _boardgame(data: Path) -> Path | None:
    """Install boardgame.io as its lock file has it; None without Node."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return None
    place = shutil.copytree(ROOT / "bench" / "boardgame", data / "boardgame")
    subprocess.run([npm, "ci", "--no-audit", "--no-fund", "--silent"], cwd=place, check=True, timeout=600)
    return place


def _moves(place: Path) -> float:
    """Moves a second of boardgame.io in a round."""
    node = [shutil.which("node") or "node", "moves.cjs", str(IN_FLIGHT), str(GAME_ACTIONS)]
    told = subprocess.run(node, cwd=place, capture_output=True, check=True, timeout=600).stdout
    return float(json.loads(told.splitlines()[-1])["rate"])


def rows() -> list[tuple[str, str, str, str]]:
    ours: list[float] = []
    sourced: list[float] = []
    moves: list[float] = []
    with folder() as data, product(data) as port:
        place, url = _boardgame(data), database_url(data)
        with naive(url, workers=1, app="bench.sourced:app"):
            pass  # its tables are made: two workers at once would both try
        uvloop.run(measure_product(port, IN_FLIGHT, IN_FLIGHT))
        for _ in range(ROUNDS):
            ours.append(uvloop.run(measure_product(port, GAMES, IN_FLIGHT)).rate)
            with naive(url, app="bench.sourced:app") as peer:
                uvloop.run(_measure_sourced(peer, _WARM_ACTIONS))
                sourced.append(uvloop.run(_measure_sourced(peer, GAME_ACTIONS)).rate)
            moves += [_moves(place)] if place else []
    told = [_row("`eventsourcing` behind FastAPI", ours, sourced)]
    return [*told, _row("boardgame.io on files", ours, moves)] if moves else told


def _row(peer: str, ours: list[float], theirs: list[float]) -> tuple[str, str, str, str]:
    ratios = sorted(one / other for one, other in zip(ours, theirs, strict=True))
    mine, other = statistics.median(ours), statistics.median(theirs)
    ratio = f"{statistics.median(ratios):.1f} x ({ratios[0]:.1f} to {ratios[-1]:.1f}), {_WANTED}"
    return f"O/X actions/s, {IN_FLIGHT} in flight, against {peer}", f"{mine:,.0f}/s", f"{other:,.0f}/s", ratio
