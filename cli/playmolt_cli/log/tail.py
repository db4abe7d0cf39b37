"""The end of the log, and what is appended to it."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from playmolt_core.game.decider import Decider
from playmolt_core.log.port import ARCHIVED, EventLog
from playmolt_core.log.verify import rests
from playmolt_schemas.records import Record

_POLL_SECONDS = 0.5
_CHUNK = 1_000


async def tail(
    log: EventLog, deciders: Mapping[str, Decider[Any]], *, count: int, follow: bool, running: bool
) -> AsyncGenerator[Record, None]:
    """The last `count` records in position order, then with `follow` what is appended, for ever.

    Without `running` only finished games are given, since the log of a running one holds its secrets; followed, a game
    is given whole as soon as it ends.
    """
    after = await log.position()
    over: dict[str, bool] = {}
    for record in await _newest(log, deciders, after, count, over if not running else None):
        yield record
    while follow:
        chunk = await log.forward(after, _CHUNK)
        for stored in chunk:
            after = stored.record.position
            if running:
                yield stored.record
            elif rests(deciders, stored.record) and not over.get(stored.record.stream):
                over[stored.record.stream] = True
                whole = await log.load(stored.record.stream)
                for record in whole.records if whole else ():
                    yield record
        if not chunk:
            await asyncio.sleep(_POLL_SECONDS)


async def _newest(
    log: EventLog, deciders: Mapping[str, Decider[Any]], position: int, count: int, over: dict[str, bool] | None
) -> list[Record]:
    """Read backwards from a position until `count` records are found, of finished games where `over` is given.

    `over` is stream → whether it has ended; what is found out is added to it.
    """
    newest: list[Record] = []
    while position > 0 and len(newest) < count:
        before = max(0, position - max(count, _CHUNK))
        shown = []
        for stored in await log.forward(before, position - before):
            stream = stored.record.stream
            if stored.record.position > position:
                break  # what was taken out in between leaves room for others
            if over is not None and stream not in over:
                over[stream] = await _is_over(log, deciders, stream)
            if over is None or over[stream]:
                shown.append(stored.record)
        newest, position = shown + newest, before
    return newest[max(0, len(newest) - count) :]


async def _is_over(log: EventLog, deciders: Mapping[str, Decider[Any]], stream: str) -> bool:
    version = (await log.versions([stream])).get(stream, 0)
    if version == ARCHIVED:
        return True
    stored = await log.load(stream, version - 1)
    return stored is not None and rests(deciders, stored.records[-1])
