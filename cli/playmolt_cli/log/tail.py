"""Reads the end of the log and follows new records."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress

from playmolt_core.game.decider import Decider
from playmolt_core.log.port import Archived, LogReader
from playmolt_core.log.reading import in_turn, page, places, places_behind
from playmolt_core.log.verify import rests
from playmolt_core.vault.vault import Erased
from playmolt_schemas.records import Record
from playmolt_schemas.shards import Places

_POLL_SECONDS = 0.5
_CHUNK = 1_000

Batch = tuple[Sequence[Record], Places]
"""Records, and the position after them."""


async def tail(
    log: LogReader,
    deciders: Mapping[str, Decider],
    *,
    count: int,
    follow: bool,
    running: bool,
    since: Places | None = None,
) -> AsyncGenerator[Batch, None]:
    """The last `count` records in log order, or all `since` a position; with `follow`, then all new records, endlessly.

    Without `running` only finished games are included, because a running game's log holds secrets; when following, a
    game is returned as a whole when it ends.
    """
    over: dict[str, bool] = {}
    sent = dict[str, int]()
    if since is None:
        reached = await places(log)
        rows = await _newest(log, deciders, reached, count, over if not running else None)
        yield _noted(rows, sent), reached
    else:
        reached, end = since, await places(log)
        while any(at < to for at, to in zip(reached, end, strict=True)):
            rows = await page(log, reached, _CHUNK)
            if not rows:
                break
            reached = places_behind(reached, rows)
            shown = [row for row in rows if running or await _ended(log, deciders, row.stream, over)]
            yield _noted(shown, sent), reached
    while follow:
        rows = await page(log, reached, _CHUNK)
        reached = places_behind(reached, rows)
        if rows:
            yield rows if running else await _whole(log, deciders, rows, sent), reached
        else:
            await asyncio.sleep(_POLL_SECONDS)


def _noted(records: Sequence[Record], sent: dict[str, int]) -> Sequence[Record]:
    """Record the last version per stream, and return the records."""
    sent |= {record.stream: record.version for record in records}
    return records


async def _whole(
    log: LogReader, deciders: Mapping[str, Decider], records: Sequence[Record], sent: dict[str, int]
) -> Sequence[Record]:
    """The unsent records of games that one of these records ends."""
    whole: list[Record] = []
    for record in records:
        if rests(deciders, record) and sent.get(record.stream, 0) < record.version:
            with suppress(Archived, Erased):  # already archived or erased
                stored = await log.load(record.stream, sent.get(record.stream, 0))
                whole += _noted(stored.records if stored else (), sent)
    return whole


async def _newest(
    log: LogReader, deciders: Mapping[str, Decider], ends: Places, count: int, over: dict[str, bool] | None
) -> Sequence[Record]:
    """The last `count` records before a position; only finished games if `over` is given."""
    newest = in_turn([await _newest_of(log, deciders, shard, end, count, over) for shard, end in enumerate(ends)])
    return newest[max(0, len(newest) - count) :]


async def _newest_of(
    log: LogReader,
    deciders: Mapping[str, Decider],
    shard: int,
    position: int,
    count: int,
    over: dict[str, bool] | None,
) -> list[Record]:
    """Read a shard backwards from a position until `count` records are found.

    `over` caches stream → whether it has ended.
    """
    newest: list[Record] = []
    while position > 0 and len(newest) < count:
        before = max(0, position - max(count, _CHUNK))
        shown = []
        for stored in await log.forward(before, position - before, shard):
            if stored.record.position > position:
                break  # archived records in the range let later ones in
            if over is None or await _ended(log, deciders, stored.record.stream, over):
                shown.append(stored.record)
        newest, position = shown + newest, before
    return newest[max(0, len(newest) - count) :]


async def _ended(log: LogReader, deciders: Mapping[str, Decider], stream: str, over: dict[str, bool]) -> bool:
    if stream not in over:
        over[stream] = await _is_over(log, deciders, stream)
    return over[stream]


async def _is_over(log: LogReader, deciders: Mapping[str, Decider], stream: str) -> bool:
    version = (await log.versions([stream])).get(stream, 0)
    try:
        stored = await log.load(stream, version - 1)
    except (Archived, Erased):  # only what is over is archived, and nothing follows an erasure
        return True
    return stored is not None and rests(deciders, stored.records[-1])
