"""`playmolt demo`: starts the platform and plays every game on it."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import cycle
from pathlib import Path
from typing import Any

import click
import httpx
import msgspec
from playmolt.bots import run_house_bots
from playmolt.bots.house_bots import house_bots
from playmolt.client import AsyncClient
from playmolt.errors import PlayMoltError
from playmolt.feed import CLOSING, SILENCE_SECONDS, SseReader
from playmolt.loop import GameResult
from playmolt_core.log.verify import Verification
from playmolt_schemas.api import GameType, Joined, LeaderboardRow
from playmolt_schemas.limits import PAGE_MAX
from playmolt_schemas.proxies import proxy_for
from rich.console import Console

from playmolt_cli.demo import agora
from playmolt_cli.demo.jury import DemoVerdict, judge
from playmolt_cli.demo.legal import CASES, DemoCase, DemoSession, argue
from playmolt_cli.games import deciders
from playmolt_cli.local.folder import Folder, Run, passing_folder
from playmolt_cli.local.stack import Stack
from playmolt_cli.log.reading import with_database
from playmolt_cli.log.verifying import verified
from playmolt_cli.terminal import terminal_text
from playmolt_cli.terminal.failures import Failure, stopping
from playmolt_cli.terminal.narration import Narration, printable, standings
from playmolt_cli.terminal.options import data_option

_ATTEMPTS = 20
_PAUSE_SECONDS = 0.25


class FeedLost(ConnectionError):
    """The feed broke off and could not be resumed."""


async def watch(spectator: str, game_id: str) -> AsyncIterator[dict[str, Any]]:
    """The public messages of a game in order, until the closing one; resumes after a lost connection.

    Raises FeedLost after twenty connections in a row without a message.
    """
    version, failures = 0, 0
    async with httpx.AsyncClient(
        timeout=httpx.Timeout(SILENCE_SECONDS, connect=5), proxy=proxy_for(spectator), trust_env=False
    ) as client:
        while failures < _ATTEMPTS:
            failures += 1
            try:
                async with client.stream(
                    "GET", f"{spectator}/sse/games/{game_id}", params={"after": version}
                ) as answer:
                    async for message in _messages(answer):
                        if message["version"] <= version:
                            continue
                        version, failures = message["version"], 0
                        yield message
                        if message["type"] in CLOSING:
                            return
            except httpx.TransportError:
                pass
            await asyncio.sleep(_PAUSE_SECONDS)
    raise FeedLost(f"The feed of {game_id} at {spectator} stopped after event {version}. Check {spectator}/readyz.")


async def _messages(answer: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    if answer.status_code != 200:
        return
    reader = SseReader()
    async for chunk in answer.aiter_bytes():
        for data in reader.feed(chunk):
            yield msgspec.json.decode(data, type=dict[str, Any])


PLAY_SECONDS = 120.0
_FEED_SECONDS = 20.0
_LEADERBOARD_PAGES = 100
_STYLES = ("cyan", "magenta", "green", "yellow")
_LEGAL_STYLES = ("bright_blue", "bright_green")
_JURY_STYLE = "bright_magenta"


class DemoGame(msgspec.Struct, frozen=True):
    """A game of the demo: the bots' results and the spectators' messages."""

    game_id: str
    results: Sequence[GameResult]
    messages: Sequence[dict[str, Any]]

    def faults(self) -> Iterator[str]:
        """Unexpected results, one line each."""
        phases = {result.phase for result in self.results}
        if phases != {"end"}:
            yield f"{self.game_id} ended in {', '.join(sorted(phases))}"
        if [message["version"] for message in self.messages] != list(range(1, len(self.messages) + 1)):
            yield f"the feed of {self.game_id} has a missing or repeated event"
        if not self.messages or self.messages[-1]["type"] != "game_end":
            yield f"the feed of {self.game_id} does not end with game_end"


@click.command()
@click.option("--once", is_flag=True, help="Stop after the games; exit status 0 only if all results are as expected.")
@click.option("--seed", default="demo", show_default=True, help="Seed of the house bots.")
@data_option
def demo(once: bool, seed: str, data: Path | None) -> None:
    """Start a platform in a new folder and play every game in the terminal.

    House bots play the arena games, shown as spectators see them; two legal sessions run to their reports; a jury is
    persuaded by a scripted overseer and votes on a chain; a small Agora experiment is run and analyzed.

    Without --once the platform then keeps running until Ctrl-C. With --data the log is kept.

    Example: playmolt demo --once
    """
    console = terminal_text.console(soft_wrap=True)
    began = time.monotonic()
    with _folder(data) as folder, stopping(), Stack(folder) as stack:
        run = stack.run
        console.print(f"The platform was ready after {time.monotonic() - began:.1f} s: {run.gateway}\n")
        try:
            played, argued, judged = asyncio.run(_play_all(console, run, seed, folder))
            studied = asyncio.run(agora.study(console, run, folder, folder / "reports" / "agora"))
            standing = asyncio.run(_leaderboard(run.gateway))
        except PlayMoltError as error:
            raise Failure(f"{error}; logs: {folder / 'logs'}") from error
        verification = with_database(folder, verified, opened=True)
        faults = [*_faults(played, standing, verification)]
        faults += [fault for session in argued for fault in session.faults()]
        faults += judged.faults()
        _summarise(console, played, standing, verification)
        _reports(console, argued)
        for line in agora.report_lines(studied):
            console.print(line)
        _verdict(console, judged)
        _next_steps(console, run, played[0].game_id, folder, stays_up=not once, kept=data is not None)
        console.print(f"\nTook {time.monotonic() - began:.1f} s.")
        for fault in faults:
            console.print(f"FAULT  {fault}", style="bold red")
        if not once:
            console.print(f"\nStill running at {run.gateway}; press Ctrl-C to stop.")
            _await_interrupt()
    if faults:
        raise SystemExit(1)


def _folder(data: Path | None) -> AbstractContextManager[Path]:
    return passing_folder("playmolt-demo-") if data is None else nullcontext(data)


def _await_interrupt() -> None:
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        return


async def _play_all(
    console: Console, run: Run, seed: str, folder: Path
) -> tuple[list[DemoGame], list[DemoSession], DemoVerdict]:
    key, reports = Folder(folder).house_key(), folder / "reports"
    games = [
        _play(console, style, run, key, game, seed) for game, style in zip(house_bots(), cycle(_STYLES), strict=False)
    ]
    cases = [
        _argue(console, style, run.gateway, case, reports) for case, style in zip(CASES, _LEGAL_STYLES, strict=True)
    ]
    trial = judge(run, lambda line: console.print(f"{'jury':<6} {line}", style=_JURY_STYLE))
    try:
        async with asyncio.timeout(PLAY_SECONDS):
            return await asyncio.gather(asyncio.gather(*games), asyncio.gather(*cases), trial)
    except TimeoutError:
        raise Failure(f"The games were not over after {PLAY_SECONDS:.0f} s. Check {run.gateway}/readyz.") from None


async def _argue(console: Console, style: str, gateway: str, case: DemoCase, reports: Path) -> DemoSession:
    return await argue(gateway, case, reports, lambda line: console.print(f"{'legal':<6} {line}", style=style))


async def _play(console: Console, style: str, run: Run, key: str, game: GameType, seed: str) -> DemoGame:
    watching: dict[str, asyncio.Task[list[dict[str, object]]]] = {}

    def seated(seat: Joined) -> None:
        if seat.game_id not in watching:
            watching[seat.game_id] = asyncio.create_task(_narrate(console, style, run.spectator, seat.game_id))

    try:
        results = await run_house_bots(
            run.gateway, game, deciders()[game].needed, seed=seed, key=key, patience=PLAY_SECONDS, seated=seated
        )
        game_id = results[0].game_id
        async with asyncio.timeout(_FEED_SECONDS):
            messages = await watching[game_id]
    finally:
        for task in watching.values():
            task.cancel()
    return DemoGame(game_id, results, messages)


async def _narrate(console: Console, style: str, spectator: str, game_id: str) -> list[dict[str, object]]:
    name = game_id.split("-", 1)[0]
    narration, messages = Narration(name), []
    async for message in watch(spectator, game_id):
        messages.append(message)
        if line := narration.sentence(message):
            console.print(f"{name:<6} {line}", style=style)
    return messages


async def _leaderboard(gateway: str) -> list[LeaderboardRow]:
    client, lines, cursor = AsyncClient(gateway), list[LeaderboardRow](), None
    try:
        for _ in range(_LEADERBOARD_PAGES):
            page = await client.leaderboard(kind="house", limit=PAGE_MAX, cursor=cursor)
            lines += page.leaderboard
            cursor = page.next_cursor
            if cursor is None:
                break
    finally:
        await client.aclose()
    return lines


def _faults(
    played: Sequence[DemoGame], standing: Sequence[LeaderboardRow], verification: Verification
) -> Iterator[str]:
    for game in played:
        yield from game.faults()
    counted = {line.id: line for line in standing}
    for result in (result for game in played for result in game.results):
        line = counted.get(result.agent_id)
        if line is None or line.points != result.points:
            points = line.points if line else "no points"
            yield f"the leaderboard has {points} for {result.name}, the game {result.points}"
    yield from (f"log: {fault.stream} event {fault.version}: {fault.problem}" for fault in verification.breaks)
    if verification.diverged:
        yield f"log: {verification.diverged} streams fold to a different state than was played"


def _summarise(
    console: Console, played: Sequence[DemoGame], standing: Sequence[LeaderboardRow], verification: Verification
) -> None:
    for game in played:
        console.print(f"\n{game.game_id}", style="bold")
        for line in standings(game.messages[-1]) if game.messages else []:
            console.print(f"  {line}")
    console.print("\nLeaderboard of the house bots", style="bold")
    for place in standing[:10]:
        console.print(f"  {place.rank:>2}. {place.points:>4}  {printable(place.name)}")
    console.print("\nLog", style="bold")
    console.print(
        f"  {verification.events} events in {verification.streams} streams: {verification.exact} exact, "
        f"{verification.unverified} unverified, {verification.diverged} diverged, {len(verification.breaks)} breaks"
    )


def _reports(console: Console, argued: Sequence[DemoSession]) -> None:
    console.print("\nReports", style="bold")
    for session in argued:
        console.print(f"  {session.session.id}  {printable(session.session.title)}")
        for file in session.files:
            console.print(f"    {file}  {file.stat().st_size} bytes")


def _verdict(console: Console, judged: DemoVerdict) -> None:
    console.print("\nVerdict on the chain", style="bold")
    console.print(f"  {judged.session}  {judged.ending}")
    for transaction in judged.checked.transactions:
        console.print(f"    {transaction}")
    console.print(f"  {judged.checked.summary()}")


def _next_steps(console: Console, run: Run, game_id: str, folder: Path, *, stays_up: bool, kept: bool) -> None:
    console.print("\nNext steps", style="bold")
    if not kept and not stays_up:
        console.print("  The data folder is deleted now. To keep the log: playmolt demo --data playmolt-data")
        return
    if stays_up:
        console.print(f"  {run.gateway}")
    for command in (f"replay {game_id}", "log verify", "log stats", "doctor" if stays_up else "up"):
        console.print(f"  playmolt {command} --data {folder}")
