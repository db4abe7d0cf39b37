"""Sources of `playmolt log lost`: files, anchors, NATS, another database."""

import asyncio
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec
from playmolt_core.bus.jetstream import JetStream, open_jetstream
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.log.copies import anchors
from playmolt_core.log.copies.anchor_places import anchor_place
from playmolt_core.log.copies.anchors import BadAnchor, Chain, PostgresHeads
from playmolt_core.log.copies.files import NoRecords, records_in
from playmolt_core.log.copies.lost import LossSearch, chained
from playmolt_core.log.port import Archived
from playmolt_core.log.postgres import log_of
from playmolt_core.vault.vault import Erased
from playmolt_schemas import subjects
from playmolt_schemas.records import Record
from playmolt_schemas.shards import streams

from playmolt_cli.log.lag import nats_settings
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import read_settings

_ANCHORS: Final = "anchors:"
_AT_ONCE: Final = 1_000
_read = msgspec.json.Decoder(Record).decode


async def search(looking: LossSearch, source: str, data: Path | None, shards: int) -> None:
    """Feed a search with everything in a source. Raises Failure if the source cannot be read."""
    try:
        if source.startswith(_ANCHORS):
            await _anchors(looking, source)
        elif source == "nats":
            await _nats(looking, data, shards)
        elif source.startswith(("postgresql://", "postgres://")):
            await _database(looking, source)
        else:
            await _file(looking, Path(source))
    except (BadAnchor, NoRecords, msgspec.MsgspecError) as error:
        raise Failure(f"Cannot read {source}: {error}") from error


async def _file(looking: LossSearch, path: Path) -> None:
    records = chained(records_in(path))
    while some := list(islice(records, _AT_ONCE)):
        await looking.take_records(str(path), some)


async def _anchors(looking: LossSearch, source: str) -> None:
    place = anchor_place(source.removeprefix(_ANCHORS), read_settings())
    chain = Chain()
    async for line in place.lines():
        heads = [head for head in chain.follow(line).heads if head.version]
        for first in range(0, len(heads), _AT_ONCE):
            await looking.take_heads(source, heads[first : first + _AT_ONCE])


async def _database(looking: LossSearch, source: str) -> None:
    pool = await open_pool(source)
    try:
        await _streams(looking, f"postgresql://{source.rpartition('@')[2].rpartition('//')[2]}", pool)
    finally:
        await pool.close()


async def _streams(looking: LossSearch, name: str, pool: Pool) -> None:
    """Compare heads first; only streams with missing records are read."""
    log, heads = await log_of(pool), PostgresHeads(pool)
    incomplete = set[str]()
    for shard, end in enumerate(await heads.places()):
        for after in range(0, end, anchors.STEP):
            found = await heads.heads(after, min(after + anchors.STEP, end), shard)
            incomplete |= set(
                await looking.take_heads(name, [anchors.AnchoredHead(each, *found[each]) for each in sorted(found)])
            )
    for stream in sorted(incomplete):
        with suppress(Archived, Erased):
            stored = await log.load(stream)
            await looking.take_records(name, list(chained(stored.records if stored else ())))


async def _nats(looking: LossSearch, data: Path | None, shards: int) -> None:
    settings = nats_settings(data)
    if settings is None:
        raise Failure("Set NATS_URL, or use --data with the folder of a running `up`.")
    jetstream = await open_jetstream(settings, "log-lost", shards)
    try:
        for stream in streams(shards, (subjects.EVENTS_STREAM,)):
            await _stream(looking, jetstream, stream)
    finally:
        await jetstream.close()


async def _stream(looking: LossSearch, streams: JetStream, stream: str) -> None:
    state = await streams.state(stream)
    if state is None:
        raise Failure(f"NATS has no stream {stream}")
    last = state.last
    while last >= state.first:
        first = max(state.first, last - _AT_ONCE + 1)
        records = await _held(streams, stream, range(first, last + 1))
        # A log and its copy are equal up to where they diverge: if a block is present, all older blocks are.
        if not await looking.take_records("nats", records) and records:
            return
        last = first - 1


async def _held(streams: JetStream, stream: str, sequences: range) -> list[Record]:
    found = await asyncio.gather(*(streams.held(stream, sequence) for sequence in sequences))
    return [_read(each.message.body) for each in found if each]
