"""`playmolt what-if`: replays a stored game from one of its events with another bot in one seat."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

import click
import msgspec
from playmolt_core.llm.catalogue import load

from playmolt_cli.log.stored_copies import copy_option
from playmolt_cli.log.stored_game import finished_games, rules_of, seat_of
from playmolt_cli.match.entrant_factory import entrant_factory
from playmolt_cli.match.entrants import Deal
from playmolt_cli.match.plan import InvalidPlan
from playmolt_cli.match.playing import Watchdog
from playmolt_cli.match.table import GameStuck
from playmolt_cli.practice.branch import Branch, BranchRun, SeatScore
from playmolt_cli.practice.decisions import action_text
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import data_option, json_bytes, json_option, read_settings

_MOST = 10_000


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the command."""

    game_id: str
    at: int
    agent_id: str
    name: str
    bot: str
    n: int
    stored: Sequence[SeatScore]
    mean_points: float
    """Of the seat, over all runs."""
    runs: Sequence[BranchRun]


@click.command("what-if")
@click.argument("game_id", metavar="GAME")
@click.option("--at", "version", type=click.IntRange(1), required=True, metavar="V", help="Play from event V on.")
@click.option("--seat", required=True, metavar="AGENT", help="Seat of the bot: agent id or name.")
@click.option("--bot", required=True, help="Bot: FILE.py[:NAME], house:POLICY, model:ALIAS or a URL.")
@click.option("--n", "count", type=click.IntRange(1, _MOST), default=1, show_default=True, help="Number of runs.")
@click.option("--seed", default="what-if", show_default=True, help="Seed of house bots and scripted models.")
@copy_option
@data_option
@json_option
def what_if(
    game_id: str, version: int, seat: str, bot: str, count: int, seed: str, copy: Path | None, data: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Continue a stored game from event V with another bot in one seat, and report what changes.

    The other seats repeat their stored decisions while the rules still accept them for the same question; otherwise a
    house bot decides. The game must be over.

    Example: playmolt what-if ox-0190… --at 40 --seat "my bot" --bot mybot.py --n 100
    """
    decider = rules_of(game_id)
    records = finished_games([game_id], data, copy)[game_id]
    agent_id = seat_of(decider, game_id, records, seat)
    if version >= len(records):
        raise Failure(f"{game_id} has {len(records)} events; after event {version} nothing is left to play.")
    branch = Branch(decider, records, version, agent_id)
    if not branch.state.playing:
        raise Failure(f"{game_id} is in phase {branch.state.phase} after event {version}. Choose an event during play.")
    if not branch.ended:
        raise Failure(f"{game_id} ended without a result, so there is nothing to compare with.")
    try:
        courses = asyncio.run(_courses(branch, bot, decider.game, game_id, count, seed))
    except (InvalidPlan, GameStuck) as error:
        raise Failure(str(error)) from error
    name = decider.participants(branch.state)[agent_id]
    points = [row.points for course in courses for row in course.results if row.agent_id == agent_id]
    answer = WhatIf(
        game_id=game_id, at=version, agent_id=agent_id, name=name, bot=bot, n=count, stored=branch.ended,
        mean_points=fmean(points or [0]), runs=courses,
    )  # fmt: skip
    click.echo(json_bytes(answer) if as_json else "\n".join(_lines(answer)))


async def _courses(branch: Branch, bot: str, game: str, game_id: str, count: int, seed: str) -> list[BranchRun]:
    making, watchdog = entrant_factory(bot, game, seed, load(read_settings().models)), Watchdog()
    try:
        (entrant,) = making.entrants()
        with watchdog.on_guard():
            return [
                await branch.play(entrant, Deal(number, game, 0, game_id, f"{seed}/{number}", (), False), watchdog)
                for number in range(1, count + 1)
            ]
    finally:
        await making.close()


def _lines(answer: WhatIf) -> Iterator[str]:
    yield f"{answer.game_id} after event {answer.at}, {answer.name} played by {answer.bot}"
    if answer.n == 1:
        for one in answer.runs[0].decisions:
            before, after = action_text(one.stored, one.played), action_text(one.played, one.stored)
            yield f"  round {one.round}, {one.phase}: {before} → {after}"
    else:
        others = sum(bool(course.decisions) for course in answer.runs)
        yield f"  decides differently in {others} of {answer.n} runs; means follow"
    kept, house = (fmean(getattr(course, name) for course in answer.runs) for name in ("kept", "house"))
    yield f"  decisions of the others: {kept:g} as stored, {house:g} by house bots"
    yield f"{'':24} {'rank':>12} {'points':>16}"
    for row in answer.stored:
        now = [one for course in answer.runs for one in course.results if one.agent_id == row.agent_id]
        ranks = [one.rank for one in now if one.rank is not None]
        rank = "" if row.rank is None or not ranks else f"{row.rank} → {fmean(ranks):.3g}"
        points = f"{row.points} → {fmean(one.points for one in now):.4g}" if now else f"{row.points} → aborted"
        yield f"{row.name:24} {rank:>12} {points:>16}"
