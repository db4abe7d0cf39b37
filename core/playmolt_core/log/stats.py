"""Statistics of the log."""

from collections import defaultdict

import msgspec

from playmolt_core.game.erasures import SessionErased
from playmolt_core.log.port import ShardReader
from playmolt_core.log.postgres import ArchiveTotals, Register
from playmolt_core.log.reading import chunks


class Volume(msgspec.Struct):
    """A number of events and their size: data and metadata in bytes."""

    events: int = 0
    bytes: int = 0


class Stats(msgspec.Struct, frozen=True):
    """Total streams and events, streams by game type, and amounts by game type and event type.

    archived: streams moved to archives; their remaining results count among the events.
    """

    streams: int
    events: int
    bytes: int
    streams_by_game: dict[str, int]
    by_game: dict[str, dict[str, Volume]]
    archived: ArchiveTotals = ArchiveTotals(0, 0)
    erased: int = 0
    """The number of erased sessions."""


async def stats(log: ShardReader, register: Register | None = None) -> Stats:
    """Count everything committed so far. Raises LogUnavailable."""
    streams: defaultdict[str, int] = defaultdict(int)
    amounts: defaultdict[str, defaultdict[str, Volume]] = defaultdict(lambda: defaultdict(Volume))
    async for entries in chunks(log):
        for entry in entries:
            record = entry.record
            game = record.stream.partition("-")[0]
            streams[game] += record.version == 1
            amount = amounts[game][record.type]
            amount.events += 1
            amount.bytes += len(record.data) + len(record.metadata)
    every = [amount for types in amounts.values() for amount in types.values()]
    return Stats(
        streams=sum(streams.values()),
        events=sum(amount.events for amount in every),
        bytes=sum(amount.bytes for amount in every),
        streams_by_game=dict(streams),
        by_game={game: dict(types) for game, types in amounts.items()},
        archived=await register.totals() if register else ArchiveTotals(0, 0),
        erased=amounts["erasure"][SessionErased.type].events,
    )
