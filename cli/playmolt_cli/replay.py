"""`playmolt replay`: a game out of the log, told in the terminal."""

import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import msgspec
from playmolt_core.decider import PUBLIC, Decider, read_event
from playmolt_core.fold import step, time_of
from playmolt_core.host.messages import message
from playmolt_schemas.identifiers import type_of
from playmolt_schemas.records import Record
from rich.console import Console
from rich.json import JSON

from playmolt_cli.failures import Failure
from playmolt_cli.games import deciders
from playmolt_cli.options import data_option, json_option
from playmolt_cli.reading import with_log
from playmolt_cli.story import Story, standings

_LONGEST_PAUSE_SECONDS = 5.0


class Moment(msgspec.Struct, frozen=True):
    """A game right after one event."""

    version: int
    at: datetime
    message: dict[str, Any]
    """What spectators were told."""
    state: Any


def moments(decider: Decider[Any], game_id: str, records: Sequence[Record]) -> Iterator[Moment]:
    """Fold a game record by record."""
    state = decider.initial(game_id)
    for record in records:
        state = step(decider, state, record)
        event = read_event(decider, record.type, record.schema_version, record.data)
        told = message(decider, game_id, record.version, time_of(record), state, event, PUBLIC)
        yield Moment(record.version, time_of(record), msgspec.json.decode(told), state)


@click.command()
@click.argument("game_id", metavar="ID")
@click.option("--at", type=click.IntRange(1), metavar="V", help="Stop after event V and show the state as it was then.")
@click.option(
    "--speed",
    type=click.FloatRange(0),
    default=0,
    metavar="X",
    help="Keep the game's own pace, X times as fast; no pause is longer than 5 s. Default 0: all at once.",
)
@click.option("--step", "stepping", is_flag=True, help="Wait for Enter after each event.")
@data_option
@json_option
def replay(game_id: str, at: int | None, speed: float, stepping: bool, data: Path | None, as_json: bool) -> None:
    """Tell a stored game event by event, folded from the log with the present rules, as spectators saw it.

    Example: playmolt replay ox-0190… --at 12
    """
    decider = deciders().get(type_of(game_id) or "")
    if decider is None:
        raise Failure(f"{game_id!r} is no game id: one looks like trial-UUID or ox-UUID (GET /api/games lists them)")
    stored = with_log(data, lambda log: log.load(game_id))
    if stored is None:
        raise Failure(f"the log holds no {game_id}: look for its id with `playmolt log tail --running`")
    if at is not None and at > stored.head.version:
        raise Failure(f"{game_id} has {stored.head.version} events, --at {at} is beyond them")
    shown = moments(decider, game_id, stored.records[:at])
    if as_json:
        _print_json(decider, game_id, list(shown))
    else:
        _tell(decider, shown, speed, stepping, show_state=at is not None)


def _print_json(decider: Decider[Any], game_id: str, shown: Sequence[Moment]) -> None:
    last = shown[-1]
    events = [moment.message for moment in shown]
    told = {"game_id": game_id, "version": last.version, "events": events, "state": decider.view(last.state, PUBLIC)}
    click.echo(msgspec.json.encode(told))


def _tell(decider: Decider[Any], shown: Iterator[Moment], speed: float, stepping: bool, *, show_state: bool) -> None:
    console = Console(highlight=False, markup=False, soft_wrap=True)
    story = Story()
    before: Moment | None = None
    for moment in shown:
        _pause(before, moment, speed, stepping)
        line = story.tell(moment.message)
        console.print(f"{moment.version:>5}  {moment.at:%H:%M:%S}  {line}", style=None if line else "dim")
        before = moment
    if before is None:
        return
    for line in standings(before.message):
        console.print(f"       {line}")
    if show_state:
        console.print(JSON(msgspec.json.encode(decider.view(before.state, PUBLIC)).decode()))


def _pause(before: Moment | None, moment: Moment, speed: float, stepping: bool) -> None:
    if before is None:
        return
    if stepping:
        click.prompt("", prompt_suffix="", default="", show_default=False)
    elif speed > 0:
        time.sleep(min(_LONGEST_PAUSE_SECONDS, (moment.at - before.at).total_seconds() / speed))
