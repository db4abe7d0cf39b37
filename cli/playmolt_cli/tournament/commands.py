"""`playmolt tournament`: open, start and show tournaments."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar, get_args

import click
from playmolt.client import Client
from playmolt.errors import PlayMoltError
from playmolt_schemas import limits
from playmolt_schemas.api import GameType
from playmolt_schemas.games.tournament import TournamentView
from playmolt_schemas.identifiers import GAME_TYPES
from playmolt_schemas.routes import tournaments as routes
from playmolt_schemas.stored.tournament import Format
from playmolt_schemas.stored.values import GameLanguage

from playmolt_cli.bots.commands import gateway_url
from playmolt_cli.local.folder import Folder
from playmolt_cli.terminal.failures import CommandGroup, Failure
from playmolt_cli.terminal.narration import printable
from playmolt_cli.terminal.options import data_option, echo_json, json_option, read_settings

F = TypeVar("F", bound=Callable[..., object])

_SUBCOMMANDS: Final[Mapping[str, str]] = MappingProxyType({"simulate": "playmolt_cli.tournament.simulate:simulate"})
_SHOWN_ROWS: Final = 20


@click.group(cls=CommandGroup, imported=_SUBCOMMANDS)
def tournament() -> None:
    """Open, start and show tournaments.

    Example: playmolt tournament new --game ox --house 10 --rounds 3
    """


def operator_options(command: F) -> F:
    options = (
        click.option(
            "--url", help="Gateway. Default: that of the `up` on the data folder, else PLAYMOLT_HOST and PLAYMOLT_PORT."
        ),
        click.option("--key", help="Operator key or an owner's key. Default: that of the settings or of `up`."),
        data_option,
        json_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


@tournament.command()
@click.option("--game", type=click.Choice(GAME_TYPES), default=GAME_TYPES[0], show_default=True, help="Game type.")
@click.option(
    "--format", "kind", type=click.Choice(get_args(Format)), default="swiss", show_default=True, help="Format."
)
@click.option("--name", help="Name. Default: game and format.")
@click.option("--language", type=click.Choice(get_args(GameLanguage)), help="Language of the games.")
@click.option("--rounds", type=click.IntRange(1, limits.TOURNAMENT_ROUNDS), help="Rounds. Default: by its entrants.")
@click.option("--min", "fewest", type=click.IntRange(2, limits.TOURNAMENT_ENTRANTS), help="Fewest entrants.")
@click.option("--max", "most", type=click.IntRange(2, limits.TOURNAMENT_ENTRANTS), help="Most entrants.")
@click.option("--minutes", type=click.IntRange(1, limits.TOURNAMENT_MINUTES), help="Duration of an arena.")
@click.option("--starts-at", help="Start, RFC 3339. Default: once it is full, or by `start`.")
@click.option("--ends-at", help="End of an arena or a season, RFC 3339.")
@click.option(
    "--deadline",
    type=click.IntRange(0, limits.LONGEST_PRIVATE_DEADLINE_SECONDS),
    help="Seconds of a phase; 0: none.",
)
@click.option("--unrated", is_flag=True, help="Its games are not rated.")
@click.option("--seed", help="Seed of the pairings, a whole number.")
@click.option("--house", type=click.IntRange(1, limits.HOUSE_ENTRANTS), help="Number of house bots to enter.")
@operator_options
def new(
    game: GameType, kind: Format, name: str | None, language: GameLanguage | None, rounds: int | None,
    fewest: int | None, most: int | None, minutes: int | None, starts_at: str | None, ends_at: str | None,
    deadline: int | None, unrated: bool, seed: str | None, house: int | None, url: str | None, key: str | None,
    data: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Open a tournament; with --house, enter house bots, which the house process plays.

    Example: playmolt tournament new --game ox --format swiss --house 25 --rounds 5
    """
    season = kind == "season"
    body = routes.TournamentRequest(
        name=name or f"{game} {kind}", game_type=game, format=kind, language=language, rounds=rounds,
        min_entrants=None if season else fewest or 2,
        max_entrants=None if season else most or max(house or 0, limits.TOURNAMENT_ENTRANTS),
        duration_minutes=minutes, starts_at=starts_at, ends_at=ends_at, deadline_seconds=deadline,
        rated=not unrated, seed=seed,
    )  # fmt: skip
    with operator_client(url, key, data) as client:
        made = client.call(routes.OPEN_TOURNAMENT, body=body)
        if house:
            made = client.call(routes.ADD_HOUSE, made.id, body=routes.HouseEntrants(house))
    _show(made, as_json)


@tournament.command()
@click.argument("tournament_id", metavar="TOURNAMENT")
@operator_options
def start(tournament_id: str, url: str | None, key: str | None, data: Path | None, as_json: bool) -> None:
    """Start a tournament with the entrants that have joined.

    Example: playmolt tournament start tournament-0190a5a0-7c1e-7f00-8a3b-5d2c6e9f1a04
    """
    with operator_client(url, key, data) as client:
        _show(client.call(routes.START_TOURNAMENT, tournament_id), as_json)


@tournament.command()
@click.argument("tournament_id", metavar="[TOURNAMENT]", required=False)
@operator_options
def show(tournament_id: str | None, url: str | None, key: str | None, data: Path | None, as_json: bool) -> None:
    """Show a tournament's standings, or list tournaments, newest first.

    Example: playmolt tournament show
    """
    with operator_client(url, key, data) as client:
        if tournament_id is not None:
            _show(client.tournament(tournament_id), as_json)
            return
        rows = client.tournaments().tournaments
    if as_json:
        echo_json(rows)
        return
    for row in rows:
        click.echo(f"{row.id}  {row.state:<8} {row.entrants:>5}  {printable(row.name)}")


@contextmanager
def operator_client(url: str | None, key: str | None, data: Path | None) -> Iterator[Client]:
    """The gateway as the operator, or as the holder of `key`. Refusals and lost connections become failures."""
    settings = read_settings()
    platform = url or gateway_url(data)
    run = Folder(data or settings.data).run()
    own = run.operator_key if run is not None and run.gateway == platform else ""
    try:
        with Client(platform, key or settings.operator_key or own) as client:
            yield client
    except (PlayMoltError, ValueError) as error:
        raise Failure(str(error) if platform in str(error) else f"{platform}: {error}") from error


def _show(view: TournamentView, as_json: bool) -> None:
    if as_json:
        echo_json(view)
        return
    rounds = f"round {view.round}" + (f" of {view.rounds_planned}" if view.rounds_planned else "")
    click.echo(f"{view.id}  {printable(view.name)}")
    click.echo(f"{view.game_type} {view.format}, {view.state}, {len(view.entrants)} entrants, {rounds}")
    if view.reason:
        click.echo(f"reason: {printable(view.reason)}")
    for row in view.standings[:_SHOWN_ROWS]:
        figures = f"{row.points:>6} points {row.wins:>4} wins {row.games:>4} games"
        click.echo(f"{row.rank:>4}  {figures}  {printable(row.name)}")
    if len(view.standings) > _SHOWN_ROWS:
        click.echo(f"      and {len(view.standings) - _SHOWN_ROWS} more; --json prints all")
