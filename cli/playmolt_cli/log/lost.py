"""`playmolt log lost`: finds records missing from the log that a copy, anchors, NATS or another database has."""

from collections.abc import Sequence
from pathlib import Path

import click
import msgspec
from playmolt_core.db.pool import Pool
from playmolt_core.log.copies.anchors import PostgresHeads
from playmolt_core.log.copies.lost import Losses, LossSearch, Lost
from playmolt_core.log.postgres import PostgresLog
from playmolt_schemas.records import Record
from playmolt_schemas.text import escape_line_ends

from playmolt_cli.log.lost_sources import search
from playmolt_cli.log.reading import with_database
from playmolt_cli.terminal.options import data_option, echo_json, json_option


@click.command()
@click.option(
    "--against",
    "sources",
    multiple=True,
    required=True,
    metavar="SOURCE",
    help="A file of `log export` or `log archive`, anchors:PLACE, nats, or postgresql://…. Repeatable.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the lost records found in the sources to this file.",
)
@data_option
@json_option
def lost(sources: Sequence[str], out: Path | None, data: Path | None, as_json: bool) -> None:
    """List by stream the records that sources have and the log lacks, for example after restoring a backup.

    Only records chained to the previous one count. Exit status 1 if records are lost or a stream was forked, 2 if a
    source cannot be read.

    Example: playmolt log lost --against nats --against anchors:/mnt/elsewhere/anchors.jsonl
    """

    async def work(event_log: PostgresLog, pool: Pool) -> tuple[Losses, Sequence[Record]]:
        looking = LossSearch(PostgresHeads(pool))
        for source in sources:
            await search(looking, source, data, event_log.shards)
        return await looking.losses(await event_log.versions(looking.streams())), looking.records(event_log.shards)

    losses, records = with_database(data, work)
    if out:
        lines = (escape_line_ends(msgspec.json.encode(record)) + b"\n" for record in records)
        out.write_bytes(b"".join(lines))
    if as_json:
        echo_json(losses)
    else:
        for each in losses.streams:
            click.echo(_line(each))
        click.echo(f"{losses.lost} records of {len(losses.streams)} streams lost")
    if losses.streams:
        raise SystemExit(1)


def _line(each: Lost) -> str:
    when = f", {each.first_at} to {each.last_at}" if each.first_at else ""
    forked = f", forked at {each.forked}" if each.forked else ""
    return f"{each.stream}: {each.lost} lost after {each.kept}{when}{forked}"
