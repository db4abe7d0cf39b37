"""The memory of one engine process with ten thousand games, loaded or evicted."""

import asyncio
import json
import re
import subprocess
import sys
import uuid
from pathlib import Path
from typing import NamedTuple

import uvloop
from playmolt_cli.local.embedded import Postgres
from playmolt_core.db.migrate import migrate
from playmolt_core.db.pool import open_pool
from playmolt_core.engine.engine import Engine
from playmolt_core.engine.settings import EngineSettings
from playmolt_core.log.postgres import PostgresLog
from playmolt_ox.rules import Ox
from playmolt_schemas.envelopes import Answer, Call, Op

from bench import Row
from bench.servers import ROOT, folder

LIMIT_MB = 150
_AT_ONCE = 500


class Size(NamedTuple):
    games: int = 10_000


WHOLE = Size()
SHORT = Size(100)


def _megabytes() -> float:
    status = Path("/proc/self/status").read_text("utf-8")
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found.group(1)) / 1024 if found else 0.0


async def _fill(url: str, games: int) -> float:
    """Seat five agents in each game, send their first choices, and return the memory of this process in MB."""
    pool = await open_pool(url)
    engine = Engine(Ox(), PostgresLog(pool), EngineSettings(), lambda _: None)
    engine.start()

    def send(op: Op, target: str, agent: str, body: bytes = b"{}") -> "asyncio.Future[Answer]":
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        engine.receive(Call(0, op, target, body, agent, agent, command_id=uuid.uuid4().hex), future.set_result)
        return future

    choice = json.dumps({"type": "first_choice", "choice": "O", "comment": "a comment of usual length, say"}).encode()
    for start in range(0, games * 5, _AT_ONCE):
        agents = [f"agent-{uuid.UUID(int=number)}" for number in range(start, start + _AT_ONCE)]
        seats = [json.loads((await seat).body)["game_id"] for seat in [send("join", "", agent) for agent in agents]]
        moves = [send("act", game, agent, choice) for game, agent in zip(seats, agents, strict=True)]
        assert {(await move).status for move in moves} == {200}
    weight = _megabytes()
    await engine.stop()
    await pool.close()
    return weight


def rows(size: Size) -> list[Row]:
    """Measure in a separate process, so that the rest of the benchmark does not count."""
    with folder() as data, Postgres(data / "postgres") as server:
        asyncio.run(migrate(server.url, "all"))
        command = [sys.executable, "-m", "bench.memory", server.url, str(size.games)]
        weight = float(subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=600).stdout)
    return [
        (
            f"engine with {size.games:,} games",
            f"{weight:.0f} MB",
            f"{LIMIT_MB} MB",
            f"{weight / LIMIT_MB:.2f} (wanted < 1)",
        )
    ]


if __name__ == "__main__":
    print(uvloop.run(_fill(sys.argv[1], int(sys.argv[2]))))
