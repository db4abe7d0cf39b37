"""Finds records that are missing from the log but known to anchors, exports or NATS, as after a restore."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec
from playmolt_schemas.records import ZERO_HASH, Record
from playmolt_schemas.shards import Places, shard_of, write_places

from playmolt_core.log.chain import recomputed
from playmolt_core.log.copies.anchors import AnchoredHead
from playmolt_core.log.reading import in_turn


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """The lost versions of a stream: after `kept` up to `known`.

    `forked`: the first of them that the log has with another hash. The times are those of records in a source; None if
    all sources know heads only.
    """

    stream: str
    kept: int
    known: int
    lost: int
    first_at: str | None
    last_at: str | None
    forked: int | None
    sources: list[str]


class Losses(msgspec.Struct, frozen=True, kw_only=True):
    """`position`: the end of the present log; for several shards as written by `shards.write_places`."""

    position: int | str
    lost: int
    streams: list[Lost]


class PresentLog(Protocol):
    """The part of the present log that the search uses."""

    async def places(self) -> Places:
        """The end of each shard."""
        ...

    async def hashes(self, heads: Sequence[AnchoredHead]) -> Mapping[tuple[str, int], str]:
        """The hashes of the existing ones of these versions; "" for an archived record."""
        ...


class _LostStream:
    def __init__(self) -> None:
        self.known = 0
        self.forked: int | None = None
        self.lowest = 0
        self.sources: list[str] = []
        self.records: dict[int, Record] = {}

    def note(self, head: AnchoredHead, source: str, record: Record | None, *, forked: bool) -> None:
        self.known = max(self.known, head.version)
        self.lowest = min(self.lowest or head.version, head.version)
        if forked:
            self.forked = min(self.forked or head.version, head.version)
        if source not in self.sources:
            self.sources.append(source)
        if record:
            self.records.setdefault(record.version, record)


class LossSearch:
    """Compares sources, piece by piece, with the present log and collects what it lacks."""

    def __init__(self, log: PresentLog) -> None:
        self._log = log
        self._missing: dict[str, _LostStream] = {}

    async def take_heads(self, source: str, heads: Sequence[AnchoredHead]) -> list[str]:
        """Compare heads; return the streams with one that the log lacks."""
        lacking = await self._lacking(heads)
        for head, forked in lacking:
            self._note(head, source, None, forked=forked)
        return sorted({head.stream for head, _ in lacking})

    async def take_records(self, source: str, records: Sequence[Record]) -> int:
        """Compare records; return how many of them the log lacks."""
        by_head = {AnchoredHead(each.stream, each.version, each.hash): each for each in records}
        lacking = await self._lacking(list(by_head))
        for head, forked in lacking:
            self._note(head, source, by_head[head], forked=forked)
        return len(lacking)

    async def _lacking(self, heads: Sequence[AnchoredHead]) -> list[tuple[AnchoredHead, bool]]:
        present = await self._log.hashes(heads)
        found = ((head, present.get((head.stream, head.version))) for head in heads)
        return [(head, there is not None) for head, there in found if there not in ("", head.hash)]

    def _note(self, head: AnchoredHead, source: str, record: Record | None, *, forked: bool) -> None:
        self._missing.setdefault(head.stream, _LostStream()).note(head, source, record, forked=forked)

    async def losses(self, versions: Mapping[str, int]) -> Losses:
        """`versions`: the versions of the streams of `streams` in the present log."""
        found = [_lost(stream, each, versions.get(stream, 0)) for stream, each in sorted(self._missing.items())]
        ends = await self._log.places()
        position = ends[0] if len(ends) == 1 else write_places(ends)
        return Losses(position=position, lost=sum(each.lost for each in found), streams=found)

    def streams(self) -> list[str]:
        return sorted(self._missing)

    def records(self, shards: int) -> Sequence[Record]:
        """The lost records found in sources, in the order of an export of a log with this number of shards."""
        held: list[list[Record]] = [[] for _ in range(shards)]
        for each in self._missing.values():
            for record in each.records.values():
                held[shard_of(record.stream, shards)].append(record)
        return in_turn([sorted(records, key=lambda record: record.position) for records in held])


def _lost(stream: str, missing: _LostStream, present_version: int) -> Lost:
    kept = missing.forked - 1 if missing.forked else max(present_version, 0)
    times = [record.at for _, record in sorted(missing.records.items())]
    return Lost(
        stream=stream,
        kept=kept,
        known=missing.known,
        lost=missing.known - kept,
        first_at=times[0] if times else None,
        last_at=times[-1] if times else None,
        forked=missing.forked,
        sources=missing.sources,
    )


def chained(records: Iterable[Record]) -> Iterator[Record]:
    """The records with valid hashes that follow one another; of each stream, none after the first that does not."""
    ends: dict[str, tuple[int, str] | None] = {}
    for record in records:
        end = ends.get(record.stream, (record.version - 1, record.prev_hash if record.version > 1 else ZERO_HASH))
        if end is None or record.version <= end[0]:
            continue
        follows = (record.version - 1, record.prev_hash) == end and recomputed(record) == record.hash
        ends[record.stream] = (record.version, record.hash) if follows else None
        if follows:
            yield record
