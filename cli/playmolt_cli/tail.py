"""The end of the log, and what is appended to it."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from playmolt_core.decider import Decider
from playmolt_core.log.port import ARCHIVED, EventLog
from playmolt_core.log.verify import rests
from playmolt_schemas.records import Record

_POLL_SECONDS = 0.5
_CHUNK = 1_000


async def tail(
    log: EventLog, deciders: Mapping[str, Decider[Any]], *, count: int, follow: bool, running: bool
) -> AsyncGenerator[Record, None]:
    """Give the last `count` records in position order, then with `follow` what is appended, for ever.

    Without `running` only finished games are given, since the log of a running one holds its secrets; followed, a game
    is given whole as soon as it ends.
    """
    position = await log.position()
    after = max(0, position - count)
    over: dict[str, bool] = {}
    while after < position and (chunk := await log.forward(after, min(_CHUNK, position - after))):
        after = chunk[-1].record.position
        for stored in chunk:
            stream = stored.record.stream
            if stream not in over:
                over[stream] = running or await _is_over(log, deciders, stream)
            if over[stream]:
                yield stored.record
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


async def _is_over(log: EventLog, deciders: Mapping[str, Decider[Any]], stream: str) -> bool:
    version = (await log.versions([stream])).get(stream, 0)
    if version == ARCHIVED:
        return True
    stored = await log.load(stream, version - 1)
    return stored is not None and rests(deciders, stored.records[-1])
