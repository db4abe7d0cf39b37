"""Processor time that one game of each kind takes, by process: `python -m bench.games`, what the table "Capacity" is
computed from. Models, bots and overseers are scripted: what a model's server takes for itself comes besides."""

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
"""Until what follows a game (relay, projections) has been done."""
IDLE_SECONDS: Final = 15.0
_AT_ONCE: Final = 2

Play = Callable[[], Awaitable[object]]


def used(run: Run) -> Mapping[str, float]:
    """Processor seconds by process, without the number of the replica."""
    return {name.removesuffix("-1"): tree_seconds(pid) for name, pid in run.processes.items()}


async def taken(run: Run, play: Play, times: int, idle: Mapping[str, float]) -> Mapping[str, float]:
    """Milliseconds of a game by process, what the process takes without one aside."""
    gate, before, began = asyncio.Semaphore(_AT_ONCE), used(run), time.monotonic()

    async def one() -> None:
        async with gate:
            await play()

    await asyncio.gather(*(one() for _ in range(times)))
    await asyncio.sleep(SETTLE_SECONDS)
    after, seconds = used(run), time.monotonic() - began
    return {name: 1000 * (after[name] - before[name] - idle[name] * seconds) / times for name in after}


async def at_rest(run: Run) -> Mapping[str, float]:
    """Processor seconds a second of a platform on which nothing is played."""
    await asyncio.sleep(SETTLE_SECONDS)
    before, began = used(run), time.monotonic()
    await asyncio.sleep(IDLE_SECONDS)
    return {name: (spent - before[name]) / (time.monotonic() - began) for name, spent in used(run).items()}


def games(run: Run, data: Path) -> Mapping[str, tuple[int, Play]]:
    """How often each kind is played, and how."""
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
    for times, play in games(run, data).values():  # what is loaded once is no game's
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
