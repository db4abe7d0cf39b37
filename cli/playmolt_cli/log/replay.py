"""`playmolt replay`: narrates a stored game in the terminal."""

import sys
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import msgspec
from playmolt_core.engine.messages import message
from playmolt_core.game.decider import PUBLIC, Decider, Viewer, read_event
from playmolt_core.game.fold import step, time_of
from playmolt_core.game.withholding import is_partial
from playmolt_core.log.sealing import is_sealed
from playmolt_core.log.verify import Break, Verdict
from playmolt_core.vault.stream_key import StreamKey, hash_of_state
from playmolt_core.vault.vault import Erased
from playmolt_schemas.records import Metadata, OpenedRecord, Record
from playmolt_schemas.skill import PageLanguage
from rich.json import JSON

from playmolt_cli.log.reading import need_keys, open_option
from playmolt_cli.log.stored_copies import copy_option
from playmolt_cli.log.stored_game import owner_of, rules_of, seat_of, stored_game
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.narration import Narration, standings
from playmolt_cli.terminal.options import FiniteRange, data_option, echo_json, json_option, language_option
from playmolt_cli.terminal.terminal_text import console

_LONGEST_PAUSE_SECONDS = 5.0


class Moment(msgspec.Struct, frozen=True):
    """A game right after one event."""

    version: int
    at: datetime
    type: str
    message: dict[str, Any]
    """The message to the viewer."""
    state: Any
    agrees: bool | None
    """Whether the state matches the record's state hash; None without one."""


class ReplayVerdict:
    """The verdict on a replay, from its records and their state hashes."""

    def __init__(self, breaks: Sequence[Break] = (), diverged_at: int | None = None) -> None:
        self.breaks = breaks
        self.verdict: Verdict = "DIVERGED" if breaks else "UNVERIFIED"
        self.diverged_at: int | None = diverged_at
        """The first event after which the states differ."""

    def take(self, moment: Moment) -> None:
        if moment.agrees is False and self.diverged_at is None:
            self.verdict, self.diverged_at = "DIVERGED", moment.version
        elif moment.agrees and self.verdict == "UNVERIFIED":
            self.verdict = "EXACT"

    def line(self) -> str:
        if self.breaks:
            return "DIVERGED: see the breaks above"
        return {
            "EXACT": "EXACT: all states match the game as it was played",
            "UNVERIFIED": "UNVERIFIED: no event up to here has a state hash to compare with",
            "DIVERGED": f"DIVERGED: from about event {self.diverged_at} on, the states differ from the game as played. "
            "For details run `playmolt log verify` and `playmolt log check`",
        }[self.verdict]


def moments(
    decider: Decider,
    game_id: str,
    records: Sequence[Record],
    viewer: Viewer = PUBLIC,
    key: StreamKey | None = None,
) -> Iterator[Moment]:
    """Fold a game record by record; `key` is the key of a sealed game."""
    state, partial = decider.initial(game_id), False
    for record in records:
        state = step(decider, state, record)
        event = read_event(decider, record.type, record.schema_version, record.data)
        shown = message(decider, game_id, record.version, record.at, event, viewer, state)
        expected = msgspec.json.decode(record.metadata, type=Metadata).state_hash
        partial = partial or is_partial(record)
        known = not partial and (key is not None or not (isinstance(record, OpenedRecord) and record.sealed))
        agrees = hash_of_state(state, key) == expected if expected and known else None
        yield Moment(record.version, time_of(record), record.type, msgspec.json.decode(shown), state, agrees)


@click.command()
@click.argument("game_id", metavar="ID")
@click.option("--at", type=click.IntRange(1), metavar="V", help="Stop after event V and show the state at that point.")
@click.option(
    "--speed",
    type=FiniteRange(0),
    default=0,
    metavar="X",
    help="Replay at X times the original speed, with pauses of at most 5 s. Default 0: no pauses.",
)
@click.option("--step", "stepping", is_flag=True, help="Wait for Enter after each event.")
@copy_option
@open_option
@click.option("--seat", metavar="AGENT", help="Show the view of this agent (id or name). Finished games only.")
@language_option
@data_option
@json_option
def replay(
    game_id: str,
    at: int | None,
    speed: float,
    stepping: bool,
    copy: Path | None,
    opened: bool,
    seat: str | None,
    language: PageLanguage,
    data: Path | None,
    as_json: bool,
) -> None:
    """Narrate a stored game event by event as spectators saw it, folded from the log with the current rules.

    The last line reports whether the states match the game as it was played: EXACT, UNVERIFIED (nothing to compare) or
    DIVERGED (exit status 1). Changed or missing records are listed as breaks, like in `log verify`; with --log, the
    file is also checked against its manifest.

    Sessions are sealed: without --open their records are listed as stored, with it they are narrated as their owner
    sees them.

    Example: playmolt replay ox-0190… --at 12
    """
    decider = rules_of(game_id)
    need_keys(data, opened=opened)
    try:
        records, breaks, key = stored_game(decider, game_id, data, copy, opened=opened)
    except Erased:
        _print_erased(game_id, as_json=as_json)
        return
    for fault in breaks:
        click.echo(f"BREAK  {fault.stream or 'the file'} event {fault.version}: {fault.problem}", err=as_json)
    diverged_at = next((fault.version for fault in breaks if fault.stream == game_id), None)
    if diverged_at is not None:
        records = records[: max(0, diverged_at - 1)]  # records after the break cannot be trusted
    elif at is not None and at > len(records):
        raise Failure(f"{game_id} has {len(records)} events; --at {at} is too large.")
    if records and any(map(is_sealed, records)):
        _list_sealed(game_id, records[:at], breaks, as_json=as_json)
        return
    viewer = PUBLIC
    if records and diverged_at is None:
        viewer = Viewer(seat_of(decider, game_id, records, seat)) if seat else owner_of(decider, game_id, records)
    shown = moments(decider, game_id, records[:at], viewer, key)
    agreement = ReplayVerdict(breaks, diverged_at)
    if as_json:
        _print_json(decider, game_id, list(shown), agreement, viewer)
    else:
        teller = Narration(decider.game, language)
        _narrate(decider, teller, shown, speed, stepping, agreement, viewer, show_state=at is not None)
    if agreement.verdict == "DIVERGED":
        sys.exit(1)


def _print_erased(game_id: str, *, as_json: bool) -> None:
    if as_json:
        document = {"game_id": game_id, "version": 0, "events": [], "state": None, "verdict": "ERASED"}
        echo_json(document | {"diverged_at": None, "breaks": []})
    else:
        click.echo(f"ERASED: {game_id} can no longer be read. `playmolt log verify` still checks its hash chain")


def _list_sealed(game_id: str, records: Sequence[Record], breaks: Sequence[Break], *, as_json: bool) -> None:
    """List the unsealed fields of a sealed session's records."""
    verdict: Verdict = "DIVERGED" if breaks else "UNVERIFIED"
    if as_json:
        document = {"game_id": game_id, "version": len(records), "events": records, "state": None, "verdict": verdict}
        echo_json(document | {"diverged_at": None, "breaks": breaks})
    else:
        for record in records:
            click.echo(f"{record.version:>5}  {time_of(record):%H:%M:%S}  ({record.type.replace('_', ' ')}, sealed)")
        click.echo(f"{verdict}: the session is sealed. Use --open where its keys are available")
    if breaks:
        sys.exit(1)


def _print_json(
    decider: Decider, game_id: str, shown: Sequence[Moment], agreement: ReplayVerdict, viewer: Viewer
) -> None:
    for moment in shown:
        agreement.take(moment)
    last = shown[-1] if shown else None
    document = {
        "game_id": game_id,
        "version": last.version if last else 0,
        "events": [moment.message for moment in shown],
        "state": decider.view(last.state, viewer) if last else None,
        "verdict": agreement.verdict,
        "diverged_at": agreement.diverged_at,
        "breaks": agreement.breaks,
    }
    echo_json(document)


def _narrate(
    decider: Decider,
    narration: Narration,
    shown: Iterator[Moment],
    speed: float,
    stepping: bool,
    agreement: ReplayVerdict,
    viewer: Viewer,
    *,
    show_state: bool,
) -> None:
    out = console(soft_wrap=True)
    before: Moment | None = None
    for moment in shown:
        _pause(before, moment, speed, stepping)
        line = narration.sentence(moment.message)
        hidden = f"({moment.type.replace('_', ' ')}, not public)"
        out.print(f"{moment.version:>5}  {moment.at:%H:%M:%S}  {line or hidden}", style=None if line else "dim")
        agreement.take(moment)
        before = moment
    for line in standings(before.message) if before else ():
        out.print(f"       {line}")
    if before and show_state:
        out.print(JSON(msgspec.json.encode(decider.view(before.state, viewer)).decode()))
    out.print(agreement.line())


def _pause(before: Moment | None, moment: Moment, speed: float, stepping: bool) -> None:
    if before is None:
        return
    if stepping:
        click.prompt("", prompt_suffix="", default="", show_default=False)
    elif speed > 0:
        time.sleep(min(_LONGEST_PAUSE_SECONDS, (moment.at - before.at).total_seconds() / speed))
