"""The end of the log, and what is appended to it."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from playmolt_core.game.decider import Decider
from playmolt_core.log.port import ARCHIVED, Archived, EventLog
from playmolt_core.log.reading import in_turn, page, places, places_behind
from playmolt_core.log.verify import rests
from playmolt_core.vault.vault import Erased
from playmolt_schemas.records import Record
from playmolt_schemas.shards import Places

_POLL_SECONDS = 0.5
_CHUNK = 1_000

Batch = tuple[Sequence[Record], Places]
"""Records, and the place behind them."""


async def tail(
    log: EventLog,
    deciders: Mapping[str, Decider[Any]],
    *,
    count: int,
    follow: bool,
    running: bool,
    since: Places | None = None,
) -> AsyncGenerator[Batch, None]:
    """The last `count` records in the log's order, or all `since` a place, then with `follow` what is appended, for
    ever.

    Without `running` only finished games are given, since the log of a running one holds its secrets; followed, a game
    is given whole as soon as it ends.
    """
    over: dict[str, bool] = {}
    told = dict[str, int]()
    if since is None:
        reached = await places(log)
        rows = await _newest(log, deciders, reached, count, over if not running else None)
        yield _noted(rows, told), reached
    else:
        reached, end = since, await places(log)
        while any(at < to for at, to in zip(reached, end, strict=True)):
            rows = await page(log, reached, _CHUNK)
            if not rows:
                break
            reached = places_behind(reached, rows)
            shown = [row for row in rows if running or await _ended(log, deciders, row.stream, over)]
            yield _noted(shown, told), reached
    while follow:
        rows = await page(log, reached, _CHUNK)
        reached = places_behind(reached, rows)
        if rows:
            yield rows if running else await _whole(log, deciders, rows, told), reached
        else:
            await asyncio.sleep(_POLL_SECONDS)


def _noted(records: Sequence[Record], told: dict[str, int]) -> Sequence[Record]:
    """The records, once it is noted up to which version of each stream they go."""
    told |= {record.stream: record.version for record in records}
    return records


async def _whole(
    log: EventLog, deciders: Mapping[str, Decider[Any]], records: Sequence[Record], told: dict[str, int]
) -> Sequence[Record]:
    """The games that one of the records ends, from where they were told before."""
    whole: list[Record] = []
    for record in records:
        if rests(deciders, record) and told.get(record.stream, 0) < record.version:
            with suppress(Archived, Erased):  # so soon: there is nothing left to tell
                stored = await log.load(record.stream, told.get(record.stream, 0))
                whole += _noted(stored.records if stored else (), told)
    return whole


async def _newest(
    log: EventLog, deciders: Mapping[str, Decider[Any]], ends: Places, count: int, over: dict[str, bool] | None
) -> Sequence[Record]:
    """The last `count` records before a place, of finished games where `over` is given."""
    newest = in_turn([await _newest_of(log, deciders, shard, end, count, over) for shard, end in enumerate(ends)])
    return newest[max(0, len(newest) - count) :]


async def _newest_of(
    log: EventLog,
    deciders: Mapping[str, Decider[Any]],
    shard: int,
    position: int,
    count: int,
    over: dict[str, bool] | None,
) -> list[Record]:
    """Read a shard backwards from a position until `count` records are found.

    `over` is stream → whether it has ended; what is found out is added to it.
    """
    newest: list[Record] = []
    while position > 0 and len(newest) < count:
        before = max(0, position - max(count, _CHUNK))
        shown = []
        for stored in await log.forward(before, position - before, shard):
            if stored.record.position > position:
                break  # what was taken out in between leaves room for others
            if over is None or await _ended(log, deciders, stored.record.stream, over):
                shown.append(stored.record)
        newest, position = shown + newest, before
    return newest[max(0, len(newest) - count) :]


async def _ended(log: EventLog, deciders: Mapping[str, Decider[Any]], stream: str, over: dict[str, bool]) -> bool:
    if stream not in over:
        over[stream] = await _is_over(log, deciders, stream)
    return over[stream]


async def _is_over(log: EventLog, deciders: Mapping[str, Decider[Any]], stream: str) -> bool:
    version = (await log.versions([stream])).get(stream, 0)
    if version == ARCHIVED:
        return True
    stored = await log.load(stream, version - 1)
    return stored is not None and rests(deciders, stored.records[-1])
