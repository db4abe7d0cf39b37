"""`playmolt erase`: erases sessions permanently."""

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
from playmolt_core.log.erasing import ErasureConflict, SessionEraser
from playmolt_schemas.identifiers import SEALED_TYPES, rfc3339, type_of

from playmolt_cli.local.database import database
from playmolt_cli.log.retention import RetentionReport, erase_due
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import data_option, echo_json, json_option, read_settings

T = TypeVar("T")
_BY: Mapping[str, ErasedBy] = {"request": "owner", "retention": "retention", "operator": "operator"}


class ErasedSession(msgspec.Struct, frozen=True):
    """An erased session; `again` if it was already erased."""

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
    help="Who requested the erasure; it is recorded.",
)
@click.option(
    "--again",
    "place",
    metavar="PLACE",
    help="Repeat all erasures recorded in the anchors of a file or s3://BUCKET/PREFIX.",
)
@click.option("--due", is_flag=True, help="Erase and delete expired data, by the settings PLAYMOLT_KEEP_…_DAYS.")
@data_option
@json_option
def erase(sessions: Sequence[str], reason: str, place: str | None, due: bool, data: Path | None, as_json: bool) -> None:
    """Erase legal and jury sessions permanently. Backups also become unreadable once the old keys are dropped.

    This cannot be undone; erasing a session twice has no effect. Use --again after restoring a backup: it repeats the
    erasures made since that backup, which the anchors recorded.

    Example: playmolt erase legal-0190c3f8-1111-7222-8333-444455556666 --reason request
    """
    if [bool(sessions), place is not None, due].count(True) != 1:
        raise Failure("Use exactly one of SESSION…, --again PLACE and --due.")
    for session in sessions:
        if type_of(session) not in SEALED_TYPES:
            raise Failure(f"{session!r} is not a session id. Ids look like legal-UUID or jury-UUID.")
    settings = read_settings()
    if due:
        _print_due(_run(data, lambda pool: erase_due(pool, settings, datetime.now(UTC))), as_json=as_json)
        return
    by = _BY[reason]
    if place is None:
        done, missing = _run(data, lambda pool: _erase(pool, dict.fromkeys(sessions, by)))
    else:
        done, missing = _run(data, lambda pool: _erase_again(pool, place))
    if as_json:
        echo_json({"erased": done, "missing": missing})
    else:
        for each in done:
            click.echo(f"{each.id}: {'already erased' if each.again else 'erased'}, {each.records} records")
        for stream in missing:
            click.echo(f"{stream}: no such session in the log", err=True)
        click.echo(f"{sum(not each.again for each in done)} erased, {sum(each.again for each in done)} already erased")
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
            "This login cannot access sessions. Use the login `eraser`, or the one that runs migrations."
        ) from error
    except (BadAnchor, ErasureConflict) as error:
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
    """Repeat erasures from anchors. Sessions opened after the restored backup are missing from the log anyway."""
    return await _erase(pool, await anchors.erased_at(anchor_place(place, read_settings())))


def _print_due(done: RetentionReport, *, as_json: bool) -> None:
    if as_json:
        echo_json(done)
        return
    for name in done.files:
        click.echo(f"deleted {name}")
    click.echo(f"{done.legal} legal sessions and {done.jury} juries erased, {done.texts} texts of experiments deleted")
