"""`playmolt log`: inspects, checks and exports the event log."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final

import click
import msgspec
from msgspec.structs import asdict, astuple, replace
from playmolt_core.db.moderation import PgModeration
from playmolt_core.db.pool import Pool
from playmolt_core.log.copies.anchors import Comparison
from playmolt_core.log.copies.export import json_lines, parquet
from playmolt_core.log.copies.manifest import ManifestBuilder, beside, write_manifest
from playmolt_core.log.moderation import rebuild_moderation
from playmolt_core.log.ownership import rebuild_owners
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.reading import places
from playmolt_core.log.stats import Stats
from playmolt_core.log.stats import stats as count_everything
from playmolt_core.log.verify import Verification
from playmolt_core.log.withholding import WithheldReader
from playmolt_schemas.export.wire import Lag, ShardLag
from playmolt_schemas.records import Record
from playmolt_schemas.shards import MOST_SHARDS, BadPlaces, Places, read_places, write_places
from playmolt_schemas.text import escape_line_ends
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from playmolt_cli.games import deciders, with_packs
from playmolt_cli.log.anchor import compared_with_anchors
from playmolt_cli.log.check import FoldReport, fold_records
from playmolt_cli.log.check import check as fold_everything
from playmolt_cli.log.reading import (
    need_keys,
    open_option,
    records_of,
    verified_files,
    with_database,
    with_log,
)
from playmolt_cli.log.redecide import RedecisionReport, redecide_records, table_of
from playmolt_cli.log.redecide import redecide as redecide_everything
from playmolt_cli.log.stored_copies import files_argument
from playmolt_cli.log.tail import tail as end_of_log
from playmolt_cli.log.verifying import verified
from playmolt_cli.terminal.failures import CommandGroup, Failure
from playmolt_cli.terminal.options import data_option, echo_json, json_bytes, json_option
from playmolt_cli.terminal.terminal_text import console

_SUBCOMMANDS: Final = MappingProxyType(
    {name: f"playmolt_cli.log.{name}:{name}" for name in ("anchor", "archive", "lost")}
)


@click.group(cls=CommandGroup, imported=_SUBCOMMANDS)
def log() -> None:
    """Inspect, check and export the event log.

    Every command works with or without a running `up`, or on DATABASE_URL.

    Example: playmolt log verify
    """


@contextmanager
def progress(total: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar, if standard error is a terminal."""
    columns = (TextColumn("events"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    errors = console(err=True)
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        task = bar.add_task("", total=total)
        yield lambda position: bar.update(task, completed=position)


@log.command()
@files_argument
@click.option(
    "--anchors",
    "place",
    is_flag=False,
    flag_value="",
    metavar="[PLACE]",
    help="Also compare with the anchors in a file or s3://BUCKET/PREFIX. Default: the place `log anchor` writes to.",
)
@data_option
@json_option
def verify(files: Sequence[Path], place: str | None, data: Path | None, as_json: bool) -> None:
    """Verify positions, versions and the hash chain, and fold every stream to check its stored state hashes.

    EXACT: every stored state hash matches. UNVERIFIED: there is none yet, or the stream is sealed and its key is not
    available (PLAYMOLT_SEAL_KEYS). DIVERGED: broken. Points, results, ratings and scores are compared with the log. A
    break gives exit status 1. To also decide every command again, use `log check --redecide`.

    With files from `log export`, `log archive` or a gateway's /log it verifies those instead, including that every game
    is complete or matches the manifest next to the file. Records with withheld parts are counted as `withheld`.
    --anchors also detects a rewritten, self-consistent log.

    Example: playmolt log verify --json
    """

    async def work(event_log: PostgresLog, pool: Pool) -> Verification:
        against = Comparison([], 0) if place is None else await compared_with_anchors(pool, data, place)
        with progress(sum(await places(event_log))) as done:
            found = await verified(event_log, pool, data, done)
        return replace(found, breaks=found.breaks + against.breaks, lost=against.lost)

    if files and place is not None:
        raise Failure("--anchors compares the log itself. Remove the files.")
    result = verified_files(files) if files else with_database(data, work, opened=True)
    if as_json:
        echo_json(result)
    else:
        for fault in result.breaks:
            place = "the log" if fault.shard is msgspec.UNSET else f"shard {fault.shard}"
            click.echo(f"BREAK  {fault.stream or place} event {fault.version}: {fault.problem}")
        click.echo(
            f"{result.events} events in {result.streams} streams: "
            f"{result.exact} EXACT, {result.unverified} UNVERIFIED, {result.diverged} DIVERGED, {result.erased} ERASED"
            + (f", {result.archived} more archived" if result.archived else "")
            + (f", {result.lost} records lost" if result.lost else "")
            + (f"; {result.withheld} WITHHELD records, whose hashes were taken as given" if result.withheld else "")
        )
    if result.breaks or result.diverged:
        raise SystemExit(1)


@log.command()
@click.option("--redecide", is_flag=True, help="Instead, decide every stored command again by the current rules.")
@files_argument
@data_option
@json_option
def check(redecide: bool, files: Sequence[Path], data: Path | None, as_json: bool) -> None:
    """Fold every stored game with the current rules and compare states and messages. Exit status 1 on a difference.

    Run it before you release a new version of the rules. With files from `log export` or `log archive` it checks those
    instead of the log; they have no messages to compare.

    --redecide decides all commands again by the current rules and lists the games whose events, results or points would
    differ. Of a public copy it also names the events in which something is withheld. Those cannot be decided again and
    count as equal.

    Example: playmolt log check --redecide
    """
    if redecide:
        _check_decisions(files, data, as_json)
        return

    async def work(event_log: PostgresLog) -> FoldReport:
        with progress(sum(await places(event_log))) as done:
            return await fold_everything(event_log, deciders(), done)

    checked = fold_records(records_of(files), deciders()) if files else with_log(data, work, opened=True)
    if as_json:
        echo_json(checked)
    else:
        for difference in checked.differences:
            click.echo(f"DIFFERS  {difference.stream} event {difference.version}: {difference.problem}")
        erased = f", {checked.erased} erased" if checked.erased else ""
        withheld = f"; {checked.withheld} have withheld records, and their later states were not compared"
        click.echo(
            f"{checked.events} events in {checked.streams} streams, {len(checked.differences)} differ{erased}"
            f"{withheld if checked.withheld else ''}"
        )
    if checked.differences:
        raise SystemExit(1)


def _check_decisions(files: Sequence[Path], data: Path | None, as_json: bool) -> None:
    rules = deciders()

    async def work(event_log: PostgresLog, pool: Pool) -> RedecisionReport:
        await with_packs(rules, pool)
        with progress(sum(await places(event_log))) as done:
            return await redecide_everything(event_log, rules, done)

    redecided = redecide_records(records_of(files), rules) if files else with_database(data, work, opened=True)
    if as_json:
        echo_json(redecided)
    else:
        for each in redecided.differ:
            parts = [name for name in ("events", "results", "points") if getattr(each, name)]
            click.echo(f"DIFFERS  {each.game_id} from event {each.version} on: {', '.join(parts)}")
        for game in redecided.withheld:
            events = ", ".join(map(str, game.versions))
            click.echo(f"WITHHELD {game.game_id} event {events}: cannot be decided again; all its other events were")
        console().print(table_of(redecided))
        undecided = f"; {len(redecided.withheld)} with withheld events" if redecided.withheld else ""
        click.echo(f"{redecided.games} games decided again, {redecided.same} the same{undecided}")
    if redecided.differ:
        raise SystemExit(1)


@log.command()
@data_option
def rebuild(data: Path | None) -> None:
    """Rebuild points, results, ratings, agents' owners and what the operator hid, renamed and banned from the log.

    Readers see the old values until it is done; a running relay continues from there.

    Example: playmolt log rebuild
    """

    from playmolt_core.relay.projector import rebuild as rebuild_projections  # noqa: PLC0415 -- imports all of NATS

    async def work(event_log: PostgresLog, pool: Pool) -> Places:
        await rebuild_owners(pool)
        await rebuild_moderation(pool)
        return await rebuild_projections(pool, event_log)

    reached = with_database(data, work)
    click.echo(f"points, results and ratings rebuilt from the log up to position {write_places(reached)}")


@log.command()
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="File to write. Default: standard output.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["jsonl", "parquet"]),
    help="Default: parquet for a FILE that ends in .parquet, else jsonl.",
)
@click.option("--running", is_flag=True, help="Include running games and lobbies; their records hold secrets.")
@click.option(
    "--public",
    is_flag=True,
    help="Only finished bot games, without what the operator hid or renamed: a copy that may leave the platform.",
)
@click.option("--shard", type=click.IntRange(0, MOST_SHARDS - 1), metavar="K", help="Only the records of this shard.")
@open_option
@data_option
def export(
    out: Path | None, kind: str | None, running: bool, public: bool, shard: int | None, opened: bool, data: Path | None
) -> None:
    """Export the log, one record per line (or row), in log order.

    Several shards are merged by the smallest (at, shard) of their next records.

    The file is written atomically, together with FILE.manifest.json, which lists its contents for `log verify FILE`.

    Example: playmolt log export --out log.jsonl
    """
    need_keys(data, opened=opened)
    kind = kind or ("parquet" if out is not None and out.suffix == ".parquet" else "jsonl")
    if public and (running or opened):
        raise Failure("--public exports finished bot games only. Remove --running and --open.")
    if public and kind == "parquet":
        raise Failure("--public writes JSON lines, which say what is withheld. Use --format jsonl.")
    if out is None:
        if kind == "parquet":
            raise Failure("Cannot write Parquet to a terminal or a pipe. Use --out FILE.")
        with_database(
            data,
            lambda event_log, pool: _write_lines(
                event_log, sys.stdout.buffer, running, ManifestBuilder(), shard, pool if public else None
            ),
            opened=opened,
        )
        return
    unfinished, listing = out.with_name(f".{out.name}.unfinished"), ManifestBuilder()
    try:
        with_database(
            data,
            lambda event_log, pool: _write_file(
                event_log, unfinished, kind, running, listing, shard, pool if public else None
            ),
            opened=opened,
        )
        manifest = listing.finish()
        write_manifest(manifest, beside(unfinished))
        beside(unfinished).replace(beside(out))
        unfinished.replace(out)
    except ImportError as error:
        raise Failure("Parquet needs pyarrow. Install playmolt-core[parquet].") from error
    finally:
        unfinished.unlink(missing_ok=True)
        beside(unfinished).unlink(missing_ok=True)
    click.echo(f"{manifest.records} records in {out}", err=True)


async def _write_file(
    event_log: PostgresLog, path: Path, kind: str, running: bool, listing: ManifestBuilder, shard: int | None,
    public: Pool | None,
) -> None:  # fmt: skip
    if kind == "parquet":
        _begin(event_log, listing, shard)
        await parquet(event_log, path, deciders(), running=running, listing=listing, shard=shard)
        return
    with path.open("wb") as file:
        await _write_lines(event_log, file, running, listing, shard, public)


def _begin(event_log: PostgresLog, listing: ManifestBuilder, shard: int | None) -> None:
    if shard is not None and shard >= event_log.shards:
        raise Failure(f"No shard {shard}. This log has {event_log.shards} shards, numbered from 0.")
    listing.shards = event_log.shards


async def _write_lines(
    event_log: PostgresLog, file: BinaryIO, running: bool, listing: ManifestBuilder, shard: int | None,
    public: Pool | None,
) -> None:  # fmt: skip
    """`public`: where to read what is withheld, for a copy that may leave the platform."""
    _begin(event_log, listing, shard)
    withheld = None
    if public:
        following = WithheldReader(PgModeration(public))
        await following.refresh()
        withheld = following.withheld
    async for piece in json_lines(
        event_log, deciders(), running=running, listing=listing, shard=shard, withheld=withheld
    ):
        file.write(piece)
    file.flush()


@log.command()
@data_option
@json_option
def stats(data: Path | None, as_json: bool) -> None:
    """Count streams, events and bytes, by game and event type.

    If NATS is reachable, also show the progress of its streams and of the projections (`lag`).

    Example: playmolt log stats
    """

    from playmolt_cli.log.lag import lag  # noqa: PLC0415 -- imports all of NATS

    async def work(event_log: PostgresLog, pool: Pool) -> tuple[Stats, Lag | None]:
        return await count_everything(event_log, event_log.register), await lag(pool, data)

    counted, behind = with_database(data, work)
    if as_json:
        echo_json(asdict(counted) | ({"lag": behind} if behind else {}))
        return
    for game, types in sorted(counted.by_game.items()):
        click.echo(f"{game}: {counted.streams_by_game[game]} streams")
        for kind, amount in sorted(types.items(), key=lambda item: -item[1].events):
            click.echo(f"  {kind:<24} {amount.events:>10} events {amount.bytes:>12} bytes")
    click.echo(f"{counted.streams} streams, {counted.events} events, {counted.bytes} bytes of data and metadata")
    if counted.archived.streams:
        click.echo(f"archived: {counted.archived.streams} streams, {counted.archived.events} events")
    if counted.erased:
        click.echo(f"erased: {counted.erased} sessions")
    for each in (behind.shards or [ShardLag(0, *astuple(behind)[:4])]) if behind else ():
        shard = f"shard {each.shard}: " if behind and behind.shards else ""
        copies = f"streams at {each.events} and {each.spectate}, projections at {each.projections}"
        click.echo(f"{shard}position {each.log}; {copies}")


@log.command()
@click.option("-n", "count", type=click.IntRange(0, 100_000), default=20, show_default=True, help="How many records.")
@click.option(
    "--after", metavar="POSITION",
    help="Instead, all records after this position; with several shards, after a cursor such as 12.0.7.",
)  # fmt: skip
@click.option("--follow", "-f", is_flag=True, help="Follow new records until Ctrl-C.")
@click.option("--running", is_flag=True, help="Include running games; their records hold secrets.")
@open_option
@data_option
@json_option
def tail(
    count: int, after: str | None, follow: bool, running: bool, opened: bool, data: Path | None, as_json: bool
) -> None:
    """Print the newest records in log order. --json prints whole records, one per line.

    With several shards, --json prints a line {"cursor": …} after each batch, for use with --after.

    Example: playmolt log tail -n 5 --follow --running
    """

    async def work(event_log: PostgresLog) -> None:
        try:
            since = None if after is None else read_places(after, event_log.shards)
        except BadPlaces as error:
            raise Failure(f"--after: {error}") from error
        several = as_json and event_log.shards > 1
        async for records, reached in end_of_log(
            event_log, deciders(), since=since, count=count, follow=follow, running=running
        ):
            for record in records:
                click.echo(escape_line_ends(json_bytes(record)) if as_json else _line(record))
            if several:
                echo_json({"cursor": write_places(reached)})

    need_keys(data, opened=opened)
    try:
        with_log(data, work, opened=opened)
    except KeyboardInterrupt:
        return


def _line(record: Record) -> str:
    return f"{record.position:>8}  {record.at}  {record.stream}  {record.version:>4}  {record.type}"
