"""Reads the whole log forward in bounded chunks."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from heapq import heapify, heappop, heapreplace, merge
from typing import TypeVar

from playmolt_schemas.records import Record
from playmolt_schemas.shards import Places, shard_of

from playmolt_core.log.port import LastRecord, LogEntry, Part, ShardReader, StoredRecord

CHUNK = 2_000


async def places(log: ShardReader) -> Places:
    """The end of each shard."""
    return tuple([await log.position(shard) for shard in range(log.shards)])


async def chunks(log: ShardReader, size: int = CHUNK) -> AsyncIterator[Sequence[LogEntry]]:
    """Everything committed when the read of its shard began, shard after shard, in non-empty chunks.

    Each stream comes complete and in order, since it belongs to one shard.
    """
    for shard in range(log.shards):
        async for chunk in chunks_of(log, shard, size=size):
            yield chunk


def chunks_of(log: ShardReader, shard: int, after: int = 0, size: int = CHUNK) -> AsyncIterator[Sequence[LogEntry]]:
    """As `chunks`, for one shard, after a position. The next chunk is read while one is processed."""
    return _chunks(log, shard, after, size, log.forward, lambda entry: entry.record.position)


def parts_of(
    log: ShardReader, shard: int, part: Part, size: int = CHUNK
) -> AsyncIterator[Sequence[LogEntry | StoredRecord]]:
    """As `chunks_of`, for one part of the streams, as `forward_part` gives it."""

    def read(after: int, limit: int, home: int) -> Coroutine[None, None, Sequence[LogEntry | StoredRecord]]:
        return log.forward_part(after, limit, home, part)

    return _chunks(log, shard, 0, size, read, position_of)


def position_of(entry: LogEntry | StoredRecord) -> int:
    return entry.position if isinstance(entry, StoredRecord) else entry.record.position


def stream_of(entry: LogEntry | StoredRecord) -> str:
    return entry.stream if isinstance(entry, StoredRecord) else entry.record.stream


E = TypeVar("E")


async def _chunks(
    log: ShardReader,
    shard: int,
    after: int,
    size: int,
    read: Callable[[int, int, int], Coroutine[None, None, Sequence[E]]],
    position: Callable[[E], int],
) -> AsyncIterator[Sequence[E]]:
    last = await log.position(shard)

    def begun() -> "asyncio.Task[Sequence[E]] | None":
        left = min(size, last - after)
        return asyncio.ensure_future(read(after, left, shard)) if left > 0 else None

    reading = begun()
    try:
        while reading and (chunk := await reading):
            after = position(chunk[-1])
            reading = begun()
            await asyncio.sleep(0)  # send the next read before the chunk is processed
            yield chunk
    finally:
        if reading:  # cancelled: let the read finish, since its connection is reused
            await asyncio.gather(reading, return_exceptions=True)


async def last_records(log: ShardReader, size: int = CHUNK) -> AsyncIterator[Sequence[LastRecord]]:
    """The last record of every stream that is not archived, shard after shard."""
    for shard in range(log.shards):
        after = ""
        while ends := await log.last_records(after, size, shard):
            yield ends
            after = ends[-1].stream


async def results_to(log: ShardReader, ends: Places) -> AsyncIterator[Sequence[LogEntry]]:
    """The records of type `game_end` up to a place, roughly by time: always from the shard that is furthest behind."""
    read = {shard: ("", 0) for shard, end in enumerate(ends) if end}
    while read:
        shard = min(read, key=lambda shard: read[shard])
        entries = await log.results(read[shard][1], CHUNK, shard)
        yield [entry for entry in entries if entry.record.position <= ends[shard]]
        if entries and entries[-1].record.position < ends[shard]:
            read[shard] = entries[-1].record.at, entries[-1].record.position
        else:
            del read[shard]


async def in_order(log: ShardReader, size: int = CHUNK) -> AsyncIterator[Sequence[LogEntry]]:
    """As `chunks`, in one order over all shards (api.md, Shards): by `at`, then by shard."""
    if log.shards == 1:
        async for one in chunks_of(log, 0, size=size):
            yield one
        return
    readers = [chunks_of(log, shard, size=size) for shard in range(log.shards)]
    waiting = [deque(await _next(reader)) for reader in readers]
    heads = [(rows[0].record.at, shard) for shard, rows in enumerate(waiting) if rows]
    heapify(heads)
    chunk: list[LogEntry] = []
    while heads:
        shard = heads[0][1]
        rows = waiting[shard]
        chunk.append(rows.popleft())
        if not rows:
            rows.extend(await _next(readers[shard]))
        if rows:
            heapreplace(heads, (rows[0].record.at, shard))
        else:
            heappop(heads)
        if len(chunk) == size or not heads:
            yield chunk
            chunk = []


async def _next(reader: AsyncIterator[Sequence[LogEntry]]) -> Sequence[LogEntry]:
    async for chunk in reader:
        return chunk
    return ()


async def page(log: ShardReader, after: Places, limit: int) -> Sequence[Record]:
    """At most `limit` records after a place, in the same order."""
    found = [await log.forward(place, limit, shard) for shard, place in enumerate(after)]
    return in_turn([[row.record for row in rows] for rows in found])[:limit]


def in_turn(shards: Sequence[Sequence[Record]]) -> Sequence[Record]:
    """Merge the records of all shards into one order."""
    rows = [[(record.at, shard, record) for record in records] for shard, records in enumerate(shards)]
    return [record for _, _, record in merge(*rows, key=lambda row: row[:2])]


def places_behind(after: Places, records: Iterable[Record]) -> Places:
    """The place after these records, which were read after a place, in order within each shard."""
    behind = list(after)
    for record in records:
        behind[shard_of(record.stream, len(after))] = record.position
    return tuple(behind)
