"""CPU time of one game of each kind, by process: `python -m bench.games`. The table "Capacity" uses its figures.

Models, bots and overseers are scripted, so the time of model servers is not included.
"""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from playmolt.bots import run_house_bots
from playmolt_cli.demo import agora
from playmolt_cli.demo.jury import play_jury
from playmolt_cli.demo.legal import CASES, argue
from playmolt_cli.games import deciders
from playmolt_cli.local.folder import Folder, Run
from playmolt_cli.local.stack import Stack
from rich.console import Console

from bench.processes import tree_seconds
from bench.servers import folder

TIMES: Final = 10
SETTLE_SECONDS: Final = 3.0
"""Time for the work that follows a game, in the relay and the projections."""
IDLE_SECONDS: Final = 15.0
_AT_ONCE: Final = 2

Play = Callable[[], Awaitable[object]]


def used(run: Run) -> Mapping[str, float]:
    """CPU seconds by process, named without the number of its replica."""
    return {name.removesuffix("-1"): tree_seconds(pid) for name, pid in run.processes.items()}


async def taken(run: Run, play: Play, times: int, idle: Mapping[str, float]) -> Mapping[str, float]:
    """CPU milliseconds of one game by process, without those that the process uses at rest."""
    gate, before, began = asyncio.Semaphore(_AT_ONCE), used(run), time.monotonic()

    async def one() -> None:
        async with gate:
            await play()

    await asyncio.gather(*(one() for _ in range(times)))
    await asyncio.sleep(SETTLE_SECONDS)
    after, seconds = used(run), time.monotonic() - began
    return {name: 1000 * (after[name] - before[name] - idle[name] * seconds) / times for name in after}


async def at_rest(run: Run) -> Mapping[str, float]:
    """CPU seconds per second of each process of a platform without games."""
    await asyncio.sleep(SETTLE_SECONDS)
    before, began = used(run), time.monotonic()
    await asyncio.sleep(IDLE_SECONDS)
    return {name: (spent - before[name]) / (time.monotonic() - began) for name, spent in used(run).items()}


def games(run: Run, data: Path) -> Mapping[str, tuple[int, Play]]:
    """Name of each kind → how often it is played, and a function that plays it once."""
    key, quiet = Folder(data).house_key(), Console(file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115

    def bots(game: str) -> Play:
        return lambda: run_house_bots(run.gateway, game, deciders()[game].needed, seed="bench", key=key)

    return {
        "O/X": (TIMES, bots("ox")),
        "mock trial": (TIMES, bots("trial")),
        "legal session": (TIMES, lambda: argue(run.gateway, CASES[0], data / "reports", lambda _: None)),
        "AI jury": (TIMES, lambda: asyncio.to_thread(play_jury, run.gateway, lambda _: None)),
        "432 turns of Agora": (1, lambda: agora.study(quiet, run, data, data / "agora")),
    }


async def measured(run: Run, data: Path) -> None:
    for times, play in games(run, data).values():  # warm up: what a process loads once is not part of a game
        await (play() if times > 1 else asyncio.sleep(0))
    idle = await at_rest(run)
    for name, (times, play) in games(run, data).items():
        found = await taken(run, play, times, idle)
        told = ", ".join(f"{each} {spent:.1f}" for each, spent in sorted(found.items()) if spent >= 0.1)
        sys.stdout.write(f"{name}: {sum(found.values()):.1f} ms ({told})\n")


def main() -> None:
    with folder() as data, Stack(data) as stack:
        asyncio.run(measured(stack.run, data))


if __name__ == "__main__":
    main()
