"""`playmolt match`: plays bots and models against each other in this process."""

import asyncio
from importlib.resources import files
from pathlib import Path
from typing import Final

import click
import msgspec
from playmolt_core.llm.catalogue import load
from playmolt_core.ops.telemetry import configure
from playmolt_schemas.match_plan import FEWEST_PLAYERS, MOST_PLAYERS

from playmolt_cli.games import deciders
from playmolt_cli.match.entrant_factory import models_of
from playmolt_cli.match.folder import InUse, PlanMismatch
from playmolt_cli.match.match_run import MatchRun
from playmolt_cli.match.plan import InvalidPlan, check, known_games, plan_of_words, read_plan
from playmolt_cli.match.reporting.pages import html, lines, markdown
from playmolt_cli.match.reporting.report import Report
from playmolt_cli.match.table import GameStuck
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import json_bytes, json_option, read_settings

_DEFAULT_GAME: Final = "ox"
_DEFAULT_GAMES: Final = 1000
_MOST_GAMES: Final = 100_000
_STUCK: Final = 1
_BUDGET: Final = 3


@click.command()
@click.argument("bots", nargs=-1, metavar="BOT BOT …")
@click.option("--game", type=click.Choice(known_games()), help=f"Game to play. Default: {_DEFAULT_GAME}.")
@click.option("--n", "count", type=click.IntRange(1, _MOST_GAMES), help=f"Number of games. Default: {_DEFAULT_GAMES}.")
@click.option("--seed", help="Seed of questions, cases, seats and random draws. Default: match.")
@click.option(
    "--plan", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Read a plan in TOML instead."
)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Store games, calls and report here; continues a stopped match. Default with --plan: match-NAME.",
)  # fmt: skip
@click.option("--example", is_flag=True, help="Print a commented plan.")
@json_option
def match(
    bots: tuple[str, ...], game: str | None, count: int | None, seed: str | None, plan: Path | None, out: Path | None,
    example: bool, as_json: bool,
) -> None:  # fmt: skip
    """Play bots against each other in this process, and report which one is better.

    A BOT is a Python file (FILE.py or FILE.py:NAME; NAME defaults to `bot`), a house bot (house:POLICY), a model
    (model:ALIAS of PLAYMOLT_MODELS) or the URL of a bot. Seats rotate: every bot plays every seat with the same
    questions. House bots fill the remaining seats.

    Example: playmolt match mybot.py house:contrarian --n 1000
    """
    if example:
        if bots or game or count or seed or plan or out:
            raise Failure("--example prints a plan and plays nothing. Remove the other words and options.")
        click.echo(files("playmolt_cli.match").joinpath("example.toml").read_text("utf-8"), nl=False)
        return
    configure("match", "warning")  # keep standard output clean for JSON
    running = _opened(bots, game, count, seed, plan, out)
    try:
        report = asyncio.run(running.play())
    except KeyboardInterrupt:
        _keep(running, running.report("interrupted"))
        raise click.Abort from None
    except GameStuck as error:
        _keep(running, running.report())
        click.echo(f"Error: {error}", err=True)
        raise click.exceptions.Exit(_STUCK) from error
    finally:
        running.close()
    _keep(running, report)
    click.echo(json_bytes(report) if as_json else "\n".join(lines(report)))
    if report.stopped == "budget":
        raise click.exceptions.Exit(_BUDGET)


def _opened(
    bots: tuple[str, ...], game: str | None, count: int | None, seed: str | None, file: Path | None, out: Path | None
) -> MatchRun:
    if file is not None and (bots or game or count or seed):
        raise Failure("--plan already sets bots, games and seed. Remove the bots, --game, --n and --seed.")
    if file is None and not FEWEST_PLAYERS <= len(bots) <= MOST_PLAYERS:
        raise Failure(f"Name {FEWEST_PLAYERS} to {MOST_PLAYERS} bots, or use --plan FILE; --example prints a plan.")
    catalogue = load(read_settings().models)
    models = models_of(catalogue, "")
    try:
        if file is not None:
            plan = read_plan(file, catalogue, models)
        else:
            plan = plan_of_words(bots, game or _DEFAULT_GAME, count or _DEFAULT_GAMES, seed or "match")
            check(plan, catalogue, models)
        return MatchRun(plan, deciders(), catalogue, out or (Path(f"match-{plan.document.name}") if file else None))
    except (InvalidPlan, InUse, PlanMismatch) as error:
        raise Failure(str(error)) from error


def _keep(running: MatchRun, report: Report) -> None:
    running.keep("report.json", msgspec.json.format(msgspec.json.encode(report)) + b"\n")
    running.keep("report.md", markdown(report).encode())
    running.keep("report.html", html(report).encode())
