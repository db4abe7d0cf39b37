"""A dataset of 10,000 finished O/X games: CPU time and memory of a build, and whether a second build is equal."""

import asyncio
import hashlib
import os
import sys
from pathlib import Path
from typing import NamedTuple

from playmolt_cli.local.embedded import Postgres
from playmolt_core.db.migrate import migrate

from bench import Row
from bench.filling import GAME_EVENTS, fill
from bench.servers import folder

SECONDS_LIMIT = 60
MEGABYTES_LIMIT = 500
_DAYS = ("--from", "2000-01-01", "--to", "2100-01-01")


class Size(NamedTuple):
    games: int = 10_000


class Built(NamedTuple):
    """CPU seconds and peak megabytes of a build, and the SHA-256 of each of its files."""

    seconds: float
    megabytes: float
    files: dict[str, str]


WHOLE = Size()
SHORT = Size(64)


def _build(url: str, out: Path) -> Built:
    command = [sys.executable, "-m", "playmolt_cli", "dataset", "build", *_DAYS, "--out", str(out)]
    environment = os.environ | {"DATABASE_URL": url}
    process = os.posix_spawn(command[0], command, environment)
    _, status, used = os.wait4(process, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    files = {
        path.relative_to(out).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }
    return Built(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, files)


async def _filled(url: str, games: int) -> int:
    await migrate(url, "all")
    return len(await fill(url, games * GAME_EVENTS))


def rows(size: Size) -> list[Row]:
    with folder() as data, Postgres(data / "postgres") as server:
        games = asyncio.run(_filled(server.url, size.games))
        first, second = (_build(server.url, data / f"dataset-{number}") for number in range(2))
    assert first.files == second.files, "a second build of the same range is byte-equal"
    return [
        (
            f"dataset of {games:,} O/X games: processor time, peak memory",
            f"{first.seconds:.1f} s, {first.megabytes:.0f} MB",
            f"{SECONDS_LIMIT} s, {MEGABYTES_LIMIT} MB (the bound)",
            f"{first.seconds / SECONDS_LIMIT:.2f}, {first.megabytes / MEGABYTES_LIMIT:.2f}",
        )
    ]
