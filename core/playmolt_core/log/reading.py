"""Reads the whole log forward in bounded chunks."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from heapq import heapify, heappop, heapreplace, merge

from playmolt_schemas.records import Record
from playmolt_schemas.shards import Places, shard_of

from playmolt_core.log.port import WHOLE, LastRecord, LogEntry, Part, ShardReader

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


async def chunks_of(
    log: ShardReader, shard: int, after: int = 0, size: int = CHUNK, part: Part = WHOLE
) -> AsyncIterator[Sequence[LogEntry]]:
    """As `chunks`, for one shard, after a position, one part of its streams. The next chunk is read while one is
    processed."""
    last = await log.position(shard)

    def read(limit: int) -> Coroutine[None, None, Sequence[LogEntry]]:
        return log.forward(after, limit, shard) if part == WHOLE else log.forward_part(after, limit, shard, part)

    def begun() -> "asyncio.Task[Sequence[LogEntry]] | None":
        left = min(size, last - after)
        return asyncio.ensure_future(read(left)) if left > 0 else None

    reading = begun()
    try:
        while reading and (chunk := await reading):
            after = chunk[-1].record.position
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
    """The records of type `game_end` up to a place, shard after shard."""
    for shard, end in enumerate(ends):
        after = 0
        while after < end and (entries := await log.results(after, CHUNK, shard)):
            yield [entry for entry in entries if entry.record.position <= end]
            after = entries[-1].record.position


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
