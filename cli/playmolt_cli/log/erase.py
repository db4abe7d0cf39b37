"""`playmolt erase`: sessions erased for good."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import click
import msgspec
from playmolt_core.db.pool import NotPermitted, Pool, open_pool
from playmolt_core.game.erasures import ErasedBy
from playmolt_core.log.copies import anchors
from playmolt_core.log.copies.anchor_places import anchor_place
from playmolt_core.log.copies.anchors import BadAnchor
from playmolt_core.log.erasing import ErasingOvertaken, SessionEraser
from playmolt_schemas.identifiers import SEALED_TYPES, rfc3339, type_of

from playmolt_cli.local.database import database
from playmolt_cli.log.retention import RetentionReport, erase_due
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import data_option, json_option, read_settings

T = TypeVar("T")
_BY: Mapping[str, ErasedBy] = {"request": "owner", "retention": "retention", "operator": "operator"}


class ErasedSession(msgspec.Struct, frozen=True):
    """A session that is erased; `again`: it was before."""

    id: str
    at: str
    records: int
    again: bool


@click.command()
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@click.option(
    "--reason",
    type=click.Choice(list(_BY)),
    default="operator",
    show_default=True,
    help="On whose word; it is recorded.",
)
@click.option(
    "--again",
    "place",
    metavar="PLACE",
    help="Erase what the anchors of a file or of s3://BUCKET/PREFIX say was erased.",
)
@click.option(
    "--due", is_flag=True, help="Erase and delete what is past its time by the settings PLAYMOLT_KEEP_…_DAYS."
)
@data_option
@json_option
def erase(sessions: Sequence[str], reason: str, place: str | None, due: bool, data: Path | None, as_json: bool) -> None:
    """Erase legal sessions and juries: nobody can read them any more, in backups neither once their keys are gone.

    It cannot be undone. An erased session stays erased; said again, nothing happens. --again is for after a restore:
    what was erased since the backup was made is there again, and anchors know of it.

    Example: playmolt erase legal-0190c3f8-1111-7222-8333-444455556666 --reason request
    """
    if [bool(sessions), place is not None, due].count(True) != 1:
        raise Failure("name sessions, or give --again PLACE or --due: one of the three")
    for session in sessions:
        if type_of(session) not in SEALED_TYPES:
            raise Failure(f"{session!r} is no session's id: one looks like legal-UUID or jury-UUID")
    settings = read_settings()
    if due:
        _tell_due(_run(data, lambda pool: erase_due(pool, settings, datetime.now(UTC))), as_json=as_json)
        return
    by = _BY[reason]
    if place is None:
        done, missing = _run(data, lambda pool: _erase(pool, dict.fromkeys(sessions, by)))
    else:
        done, missing = _run(data, lambda pool: _erase_again(pool, place))
    if as_json:
        click.echo(msgspec.json.encode({"erased": done, "missing": missing}))
    else:
        for each in done:
            click.echo(f"{each.id}: {'was erased before' if each.again else 'erased'}, {each.records} records")
        for stream in missing:
            click.echo(f"{stream}: the log holds no such session", err=True)
        click.echo(f"{sum(not each.again for each in done)} erased, {sum(each.again for each in done)} before")
    if missing and place is None:
        raise SystemExit(1)


def _run(data: Path | None, work: Callable[[Pool], Awaitable[T]]) -> T:
    async def run(url: str) -> T:
        pool = await open_pool(url, writes=True)
        try:
            return await work(pool)
        finally:
            await pool.close()

    try:
        with database(data) as url:
            return asyncio.run(run(url))
    except NotPermitted as error:
        raise Failure(
            "this login reaches no session: take the one called `eraser`, or the one that migrates"
        ) from error
    except (BadAnchor, ErasingOvertaken, OSError) as error:
        raise Failure(str(error)) from error


async def _erase(pool: Pool, wanted: Mapping[str, ErasedBy]) -> tuple[list[ErasedSession], list[str]]:
    eraser, done, missing = SessionEraser(pool), list[ErasedSession](), list[str]()
    for stream, by in wanted.items():
        before = await eraser.session(stream)
        found = await eraser.erase(stream, by) if before else None
        if before is None or found is None or found.erased_at is None:
            missing.append(stream)
        else:
            again = before.erased_at is not None
            done.append(ErasedSession(stream, rfc3339(found.erased_at), found.version, again))
    return done, missing


async def _erase_again(pool: Pool, place: str) -> tuple[list[ErasedSession], list[str]]:
    """What the log does not hold was opened after the moment that it was set back to: it is gone as it is."""
    return await _erase(pool, await anchors.erased_at(anchor_place(place, read_settings())))


def _tell_due(done: RetentionReport, *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(done))
        return
    for name in done.files:
        click.echo(f"deleted {name}")
    click.echo(f"{done.legal} legal sessions and {done.jury} juries erased, {done.texts} texts of experiments deleted")
