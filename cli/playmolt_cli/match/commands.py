"""`playmolt match`: bots against one another, in this process."""

import asyncio
import gc
from importlib.metadata import version
from typing import Any, Final

import click
import msgspec
from playmolt.bots import MIXED, policies
from playmolt_core.game.decider import Decider
from playmolt_schemas.canonical import digest

from playmolt_cli.games import deciders
from playmolt_cli.match.dealing import deals
from playmolt_cli.match.entrants import Entrant, Unusable, filled, from_words
from playmolt_cli.match.report import Match, Report, report_of
from playmolt_cli.match.table import Stuck
from playmolt_cli.match.tournament import Tournament
from playmolt_cli.match.watchdog import Watchdog
from playmolt_cli.match.wording import lines
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import json_option

_GAMES: Final = sorted(policies())
_MOST_BOTS: Final = 50
_MOST_GAMES: Final = 100_000
_GARBAGE: Final = 100_000
"""Objects between two looks for garbage: a game leaves no cycles, and looking costs a tenth of the time."""


@click.command()
@click.argument("bots", nargs=-1, required=True, metavar="BOT BOT …")
@click.option("--game", type=click.Choice(_GAMES), default="ox", show_default=True, help="What they play.")
@click.option("--n", "count", type=click.IntRange(1, _MOST_GAMES), default=1000, show_default=True, help="Games.")
@click.option("--seed", default="match", show_default=True, help="Same seed, same questions, cases, seats and lots.")
@json_option
def match(bots: tuple[str, ...], game: str, count: int, seed: str, as_json: bool) -> None:
    """Play bots against one another in this process, and say who is better.

    A BOT is a Python file (FILE.py or FILE.py:NAME; the name is `bot` unless it is given) or a house bot
    (house:POLICY). Seats rotate, so that everybody sits in every seat with the same questions; seats that are left
    over are filled by house bots.

    Example: playmolt match mybot.py house:contrarian --n 1000
    """
    if len(bots) > _MOST_BOTS:
        raise Failure(f"{len(bots)} bots; a match takes at most {_MOST_BOTS}")
    try:
        entrants = from_words(bots, [game], seed)
    except Unusable as error:
        raise Failure(str(error)) from error
    decider = deciders()[game]
    entrants = filled(entrants, decider.needed, MIXED, seed)
    gc.set_threshold(_GARBAGE)
    try:
        report = asyncio.run(_played(decider, entrants, count, seed))
    except Stuck as error:
        click.echo(f"Error: {error}", err=True)
        raise click.exceptions.Exit(1) from error
    click.echo(msgspec.json.encode(report) if as_json else "\n".join(lines(report)))


async def _played(decider: Decider[Any], entrants: list[Entrant], count: int, seed: str) -> Report:
    watchdog = Watchdog()
    tournament = Tournament({decider.game: decider}, entrants, watchdog)
    planned = deals("match", seed, [(decider.game, count, decider.needed)], len(entrants))
    with watchdog.on_guard():
        played = [one async for one in tournament.play(planned)]
    words = [[entrant.name, entrant.kind] for entrant in entrants]
    about = Match(
        name="match",
        seed=seed,
        plan_hash=digest([decider.game, count, seed, words]),
        versions=versions([decider]),
        games_planned=count,
    )
    return report_of(about, entrants, played)


def versions(rules: list[Decider[Any]]) -> dict[str, Any]:
    """What a match was played with."""
    return {
        "playmolt": version("playmolt-cli"),
        "rules": {decider.game: decider.rules_version for decider in rules},
        "content": {decider.game: decider.content_version for decider in rules},
    }
