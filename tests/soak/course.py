"""The course of a soak: games and trouble, quiet, and what is wrong after it."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path

from playmolt_cli.local.folder import Run
from playmolt_cli.local.stack import Stack
from playmolt_cli.log.commands import verified
from playmolt_cli.log.reading import with_database

from tests.soak.findings import different, lost
from tests.soak.players import GAME_SECONDS, Players
from tests.soak.trouble import Trouble
from tests.soak.witness import Witnesses

REPLICAS = ("--engines", "2", "--gateways", "2", "--spectators", "2")
QUIET_SECONDS = 10.0
"""How long the feeds may take to tell the last of what has ended."""


async def soak(stack: Stack, hands: Executor, folder: Path, seconds: float, seed: int) -> tuple[Players, Witnesses]:
    """Play, make trouble, and wait until the games that have begun are over."""
    began = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - began:7.1f}  {line}", flush=True)

    run = stack.run
    players, trouble = Players(run, folder, seed, say), Trouble(stack, hands, seed, say)
    witnesses = Witnesses(run.gateway, run.spectator)
    watching, playing = asyncio.create_task(witnesses.watch()), asyncio.create_task(players.play())
    await trouble.make(seconds)
    players.stop()
    say("no more trouble")
    async with asyncio.timeout(GAME_SECONDS):
        await playing
    await asyncio.sleep(QUIET_SECONDS)
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    say(f"trouble: {trouble.made.total()} times, {dict(trouble.made)}")
    say(f"most memory: {dict(most_memory(stack.run.processes).most_common(3))} MB")
    say(f"games to their end: {dict(players.ended)}, given up: {dict(players.given_up)}")
    return players, witnesses


def most_memory(processes: Mapping[str, int]) -> Counter[str]:
    """The most that each process has held in memory since it was started, in MB; of those that run."""
    found: Counter[str] = Counter()
    for name, pid in processes.items():
        with suppress(OSError):
            held = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
            found[name] = int(held[1]) // 1024 if held else 0
    return found


def faults(run: Run, players: Players, witnesses: Witnesses, folder: Path) -> Iterator[str]:
    """Tell what is wrong, of the games as they were played and of what is left of them."""
    receipts, messages = sum(map(len, players.receipts.values())), sum(map(len, witnesses.feeds.values()))
    print(f"compared: {receipts} receipts, {messages} messages")
    yield from players.faults
    yield from witnesses.faults
    yield from (f"no game of {name} came to its end" for name, ended in players.ended.items() if not ended)
    for heard in players.juries:
        yield from heard.checked(run).faults()
    yield from lost(run.gateway, run.operator_key, players.receipts)
    yield from different(run.gateway, witnesses.feeds)
    yield from log_faults(folder)


def log_faults(folder: Path) -> Iterator[str]:
    """Tell what `log verify` finds."""
    found = with_database(folder, verified)
    print(f"the log: {found.events} events, {found.exact} streams exact, {found.diverged} diverged")
    yield from (f"{fault.stream} event {fault.version}: {fault.problem}" for fault in found.breaks)
