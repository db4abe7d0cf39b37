"""`playmolt tournament simulate`: a tournament on its rules alone, with random results."""

import time
from typing import TYPE_CHECKING, Final, Literal, get_args

import click
from playmolt_schemas import limits
from playmolt_schemas.identifiers import GAME_TYPES
from playmolt_schemas.registry import games

from playmolt_cli.terminal.options import echo_json, json_option

if TYPE_CHECKING:
    from playmolt_tournament.simulation import Simulation

PairedFormat = Literal["round_robin", "swiss", "arena"]
MOST_ENTRANTS: Final = 25_000
_SHOWN_ROWS: Final = 20


@click.command()
@click.option(
    "--format", "kind", type=click.Choice(get_args(PairedFormat)), default="swiss", show_default=True, help="Format."
)
@click.option("--game", type=click.Choice(GAME_TYPES), default=GAME_TYPES[0], show_default=True, help="Game type.")
@click.option("--entrants", type=click.IntRange(1, MOST_ENTRANTS), required=True, help="Number of entrants.")
@click.option("--rounds", type=click.IntRange(1, limits.TOURNAMENT_ROUNDS), required=True, help="Number of rounds.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of pairings and results.")
@json_option
def simulate(kind: PairedFormat, game: str, entrants: int, rounds: int, seed: int, as_json: bool) -> None:
    """Pair a tournament of any size to its end, without a platform.

    Results are random: of K seats the winner's gives 100·(K - 1) points, and each place 100 less than the one before.
    The times are milliseconds of processor time.

    Example: playmolt tournament simulate --format swiss --game ox --entrants 500 --rounds 9
    """
    # It loads rules, which the other commands do not need.
    from playmolt_tournament.simulation import simulate as simulated  # noqa: PLC0415

    played = games()[game]
    found = simulated(kind, game, played.seats, played.roles, entrants, rounds, str(seed), _milliseconds)
    if as_json:
        echo_json(found)
    else:
        _show(found)


def _milliseconds() -> float:
    return time.process_time() * 1000


def _show(found: "Simulation") -> None:
    for number, each in enumerate(found.rounds, 1):
        click.echo(f"round {number:>3}: {len(each.tables):>5} tables, paired in {each.pairing_ms:.1f} ms")
    click.echo(f"pairs that met again: {found.repeats}")
    if found.meetings is not None:
        click.echo(f"meetings of two: {found.meetings['min']} to {found.meetings['max']}")
    for row in found.standings[:_SHOWN_ROWS]:
        click.echo(f"{row.rank:>4}  {row.points:>6} points {row.wins:>4} wins {row.buchholz:>7} Buchholz  {row.id}")
    if len(found.standings) > _SHOWN_ROWS:
        click.echo(f"      and {len(found.standings) - _SHOWN_ROWS} more; --json prints all")
