"""The course of a soak: games and faults, then quiet, then the checks."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path

import msgspec
from playmolt_cli.local.folder import Folder, Run
from playmolt_cli.local.stack import Stack
from playmolt_cli.log.commands import verified
from playmolt_cli.log.reading import with_database

from tests.soak.findings import different, doubled, leaked, logs_of, lost, seeds
from tests.soak.memory import Memory
from tests.soak.players import GAME_SECONDS, Players
from tests.soak.trouble import Trouble
from tests.soak.witness import Witnesses

REPLICAS = ("--engines", "2", "--gateways", "2", "--spectators", "2")
QUIET_SECONDS = 10.0
"""Silence after which a feed counts as read to its end. The feed of a waiting game never ends."""


class Soaked(msgspec.Struct):
    """The players, the faults and the witnesses of a soak."""

    players: Players
    witnesses: Witnesses
    trouble: Mapping[str, int]
    memory: Mapping[str, int]


class Figures(msgspec.Struct, kw_only=True):
    """A soak in numbers. `wrong` has a line for each violation."""

    seed: int
    minutes: float
    faults: Mapping[str, int]
    """Kind of fault and of process → how often it was caused."""
    actions: int
    """Number of receipts that were compared with the log."""
    messages: int
    games: Mapping[str, int]
    given_up: Mapping[str, int]
    lost: int
    doubled: int
    leaked: int
    feeds_wrong: int
    events: int
    exact: int
    diverged: int
    peak_memory_mb: Mapping[str, int]
    wrong: list[str]


async def soak(stack: Stack, hands: Executor, folder: Path, seconds: float, seed: int) -> Soaked:
    """Play, cause faults, and wait until the games that have begun are over."""
    began = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - began:7.1f}  {line}", flush=True)

    run = stack.run
    players, trouble = Players(run, folder, seed, say), Trouble(stack, hands, seed, say)
    witnesses = Witnesses(run.gateway, run.spectator)
    memory = Memory(lambda: stack.run.processes)
    looking = [asyncio.create_task(witnesses.watch()), asyncio.create_task(memory.watch())]
    playing = asyncio.create_task(players.play())
    await trouble.make(seconds)
    players.stop()
    say("no more trouble")
    async with asyncio.timeout(GAME_SECONDS):
        await playing
    await witnesses.read(QUIET_SECONDS)
    for task in looking:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    return Soaked(players, witnesses, trouble.made, memory.most)


def figures(run: Run, soaked: Soaked, folder: Path, seconds: float, seed: int) -> Figures:
    """Compare receipts and feeds with the log."""
    players, feeds = soaked.players, soaked.witnesses.feeds
    logs = logs_of(run.gateway, run.operator_key, players.receipts)
    missing, twice = [*lost(logs, players.receipts)], [*doubled(logs)]
    leaks = [*leaked(_keys(run, players, folder), seeds(logs), feeds, _files(folder))]
    unlike = [*soaked.witnesses.faults, *different(run.gateway, feeds)]
    found = with_database(folder, verified, opened=True)
    broken = [f"{each.stream} event {each.version}: {each.problem}" for each in found.breaks]
    wrong = [*missing, *twice, *leaks, *unlike, *broken, *_unfinished(run, players)]
    return Figures(
        seed=seed, minutes=round(seconds / 60, 2), faults=dict(soaked.trouble),
        actions=sum(map(len, players.receipts.values())), messages=sum(map(len, feeds.values())),
        games=dict(players.ended), given_up=dict(players.given_up), lost=len(missing), doubled=len(twice),
        leaked=len(leaks), feeds_wrong=len(unlike), events=found.events, exact=found.exact, diverged=found.diverged,
        peak_memory_mb=dict(soaked.memory), wrong=wrong,
    )  # fmt: skip


def _unfinished(run: Run, players: Players) -> Iterator[str]:
    yield from players.faults
    yield from (f"no game of {name} came to its end" for name, ended in players.ended.items() if not ended)
    for heard in players.juries:
        yield from heard.checked(run).faults()


def _keys(run: Run, players: Players, folder: Path) -> set[str]:
    """All keys, which only their owners may know."""
    place = Folder(folder)
    return {run.operator_key, run.nats_password, place.house_key(), place.chain_key(), *players.keys}


def _files(folder: Path) -> list[Path]:
    return sorted((folder / "logs").glob("*.log*"))
