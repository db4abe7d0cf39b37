"""The event log in memory: what unit tests use instead of Postgres. It passes the same contract suite."""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple
from zlib import crc32

import msgspec
from msgspec.structs import replace
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.identifiers import is_sealed_type, rfc3339
from playmolt_schemas.records import ZERO_HASH, Record
from playmolt_schemas.shards import shard_of
from playmolt_schemas.stored.values import DEFAULT_PACE, Fault, Pace

from playmolt_core.db.moderation import HiddenText, ReplacedName
from playmolt_core.log.batch import check, follows
from playmolt_core.log.port import (
    ALL,
    ARCHIVED,
    GAME_END,
    Appended,
    Archived,
    Decided,
    Head,
    LastRecord,
    ListedGame,
    LogEntry,
    NewRecord,
    Outcome,
    OutgoingRecord,
    Part,
    Present,
    StoredFacts,
    StoredRecord,
    StoredSnapshot,
    StoredStream,
    StreamAppend,
    Unit,
)
from playmolt_core.log.sealing import UNOPENED, Codec, opened_entry, opened_events, opened_outcome
from playmolt_core.log.stored_rows import stored_of
from playmolt_core.vault.rows import KeyRow
from playmolt_core.vault.stream_key import StreamKey


class _Stored(NamedTuple):
    record: Record
    closes: bool


class _Stream:
    def __init__(self, name: str, created_at: datetime) -> None:
        self.name = name
        self.game = name.partition("-")[0]
        self.records: list[_Stored] = []
        self.hash = ZERO_HASH
        self.summary: GameSummary | None = None
        self.due: datetime | None = None
        self.invite = ""
        self.pace: Pace = DEFAULT_PACE
        self.archived = False
        self.created_at = self.updated_at = created_at

    def head(self) -> Head:
        return Head(version=len(self.records), hash=self.hash, at=self.updated_at)

    def listed(self) -> ListedGame | None:
        if self.summary is None:
            return None
        return ListedGame(
            stream=self.name,
            summary=self.summary,
            created_at=self.created_at,
            updated_at=self.updated_at,
            version=len(self.records),
        )


class MemoryLog:
    """Implements `port.EventLog` for one process; nothing is durable."""

    def __init__(self, shards: int = 1, codec: Codec = UNOPENED) -> None:
        self.codec = codec
        self.keys: dict[str, KeyRow] = {}
        """The rows of sealed streams, for the vault of `codec`."""
        self._streams: dict[str, _Stream] = {}
        self._outcomes: dict[tuple[str, str], Outcome] = {}
        self._decided: dict[tuple[str, str], Decided] = {}
        self._logs: list[list[_Stored]] = [[] for _ in range(shards)]
        self._archived_positions: list[set[int]] = [set() for _ in range(shards)]
        self._faults: defaultdict[str, Counter[Fault]] = defaultdict(Counter)
        self._reported: dict[str, Counter[Fault]] = {}
        self._snapshots: dict[str, StoredSnapshot] = {}
        self.decisions: list[HiddenText | ReplacedName] = []
        """What the operator hid and renamed, oldest first."""

    @property
    def shards(self) -> int:
        return len(self._logs)

    def archive(self, stream: str) -> None:
        """Archive a stream, as `log.prune` does."""
        known = self._streams[stream]
        known.archived, known.hash, known.summary, known.due = True, ZERO_HASH, None, None
        self._archived_positions[shard_of(stream, self.shards)] |= {
            entry.record.position for entry in known.records if entry.record.type != GAME_END
        }
        self._outcomes = {key: outcome for key, outcome in self._outcomes.items() if outcome.stream != stream}
        self._decided = {key: decided for key, decided in self._decided.items() if key[0] != stream}

    async def append(self, units: Sequence[Unit]) -> Sequence[Appended | None]:
        check(units)
        statuses: list[Appended | None] = []
        refused: set[str] = set()
        for unit in units:
            if self._fits(unit, refused):
                statuses.append(self._store(unit))
            else:
                refused.update(part.stream for part in unit.streams)
                statuses.append(None)
        return statuses

    def _fits(self, unit: Unit, refused: set[str]) -> bool:
        if any(part.stream in refused for part in unit.streams):
            return False
        commands = [(outcome.stream, outcome.command_id) for outcome in unit.outcomes]
        if len(set(commands)) < len(commands) or any(command in self._outcomes for command in commands):
            return False
        if any(part.key and part.stream in self.keys for part in unit.streams):
            return False
        heads: dict[str, tuple[int, str]] = {}
        return all(self._follows(part, heads) and self._may_be_over(part) for part in unit.streams)

    def _may_be_over(self, part: StreamAppend) -> bool:
        over = part.summary is not None and part.summary.over and part.records
        return not over or self._reported.get(part.stream, Counter()) == self._faults.get(part.stream, Counter())

    def _follows(self, part: StreamAppend, heads: dict[str, tuple[int, str]]) -> bool:
        head = heads.get(part.stream) or self._head(part.stream)
        if (part.expected, part.prev_hash) != head or not follows(part):
            return False
        for record in part.records:
            if (record.version - 1, record.prev_hash) != head:
                return False
            head = (record.version, record.hash)
        heads[part.stream] = head
        return True

    def _head(self, stream: str) -> tuple[int, str]:
        known = self._streams.get(stream)
        return (len(known.records), known.hash) if known else (0, ZERO_HASH)

    def _store(self, unit: Unit) -> Appended:
        firsts = []
        for part in unit.streams:
            firsts.append(len(self._logs[shard_of(part.stream, self.shards)]) + 1)
            if not part.records:
                continue
            if part.key:
                self.keys[part.stream] = self.codec.row(part.key)
            stream = self._streams.setdefault(part.stream, _Stream(part.stream, part.records[0].at))
            for new in part.records:
                log = self._logs[shard_of(part.stream, self.shards)]
                stored = _stored(part.stream, new, len(log) + 1)
                stream.records.append(stored)
                log.append(stored)
            stream.hash, stream.updated_at = part.records[-1].hash, part.records[-1].at
            if part.moves:
                stream.summary, stream.due = part.summary, part.due
            if part.summary is not None:
                stream.invite = part.summary.invite
                stream.pace = part.summary.pace
                if part.summary.over:
                    self._faults.pop(part.stream, None)
            for new in part.records:
                if new.command:
                    self._decide(part.stream, new)
        for outcome in unit.outcomes:
            self._outcomes[outcome.stream, outcome.command_id] = outcome
        return tuple(firsts)

    def _decide(self, stream: str, new: NewRecord) -> None:
        first = self._decided.get((stream, new.command))
        asked = msgspec.json.decode(new.metadata).get("request", "")
        receipt = first.receipt if first else new.hash
        self._decided[stream, new.command] = Decided(version=new.version, receipt=receipt, fingerprint=asked)

    async def note_fault(self, stream: str, fault: Fault) -> bool:
        known = self._streams.get(stream)
        if known is None or known.summary is None or known.summary.over:
            return False
        self._faults[stream][replace(fault, count=1)] += 1
        return True

    async def counted_faults(self, stream: str) -> Sequence[Fault]:
        counts = self._faults.get(stream, Counter())
        self._reported[stream] = counts.copy()
        return [replace(fault, count=count) for fault, count in counts.items()]

    def new_key(self, stream: str, /) -> StreamKey | None:
        return self.codec.new_key(stream)

    async def load(self, stream: str, after: int = 0) -> StoredStream | None:
        known = self._whole(stream)
        if known is None:
            return None
        key, records = await self.codec.key(stream), [stored.record for stored in known.records[after:]]
        opened = [self.codec.opened(record, key) for record in records] if key else records
        return StoredStream(head=known.head(), records=opened, key=key)

    async def facts(
        self, stream: str, after: int = 0, *, most: int = ALL, commands: bool = False
    ) -> StoredFacts | None:
        known = self._whole(stream)
        if known is None:
            return None
        records = [stored.record for stored in known.records[after : after + most]]
        events = ",".join(f'["{one.type}:{one.schema_version}",{bytes(one.data).decode()}]' for one in records)
        times = ",".join(str(datetime.fromisoformat(one.at).timestamp()) for one in records)
        known_ids = (*self._outcomes, *self._decided) if commands else ()
        ids = sorted(command for name, command in known_ids if name == stream)
        key, events = await self.codec.key(stream), f"[{events}]"
        opened = opened_events(events, key, after) if key else events
        return StoredFacts(head=known.head(), events=opened, times=f"[{times}]", command_ids=ids, key=key)

    def _whole(self, stream: str) -> _Stream | None:
        known = self._streams.get(stream)
        if known is not None and known.archived:
            raise Archived(stream)
        return known

    async def snapshot(self, stream: str) -> StoredSnapshot | None:
        kept, known = self._snapshots.get(stream), self._streams.get(stream)
        if kept is None or known is None or not kept.version <= len(known.records):
            return None
        return kept if known.records[kept.version - 1].record.hash == kept.hash else None

    async def keep_snapshot(self, stream: str, snapshot: StoredSnapshot) -> None:
        older = self._snapshots.get(stream)
        if older is None or older.version < snapshot.version:
            self._snapshots[stream] = snapshot

    async def outcome(self, stream: str, command_id: str) -> Outcome | Decided | None:
        found = self._outcomes.get((stream, command_id)) or self._decided.get((stream, command_id))
        return await opened_outcome(found, self.codec, stream) if found else None

    async def versions(self, streams: Iterable[str]) -> dict[str, int]:
        known = {name: self._streams[name] for name in streams if name in self._streams}
        return {name: ARCHIVED if stream.archived else len(stream.records) for name, stream in known.items()}

    async def present(self, streams: Iterable[str]) -> Present:
        return Present(await self.versions(streams), self.decisions[-1].revision if self.decisions else 0)

    async def since(self, revision: int, limit: int) -> Sequence[HiddenText | ReplacedName]:
        return [row for row in self.decisions if row.revision > revision][:limit]

    async def forward(self, after: int, limit: int, shard: int = 0) -> Sequence[LogEntry]:
        entries = [_entry(stored) for stored in self._forward(after, limit, shard)]
        keys = await self.codec.keys(entry.record.stream for entry in entries)
        return [opened_entry(entry, self.codec, keys) for entry in entries]

    async def forward_part(self, after: int, limit: int, shard: int, part: Part) -> Sequence[LogEntry | StoredRecord]:
        entries = await self.forward(after, sys.maxsize, shard)
        mine = [entry for entry in entries if crc32(entry.record.stream.encode()) % part.parts == part.number]
        return [entry if is_sealed_type(entry.record.stream) else stored_of(entry) for entry in mine[:limit]]

    async def forward_positions(self, after: int, limit: int, shard: int = 0) -> Sequence[int]:
        return [entry.record.position for entry in await self.forward(after, limit, shard)]

    async def missing_partitions(self, shard: int = 0) -> Sequence[str]:
        del shard
        return ()

    def _forward(self, after: int, limit: int, shard: int) -> Iterator[_Stored]:
        return islice(self._left(self._logs[shard][after:], shard), limit)

    def _left(self, entries: Iterable[_Stored], shard: int) -> Iterator[_Stored]:
        return (entry for entry in entries if entry.record.position not in self._archived_positions[shard])

    async def outgoing(self, after: int, limit: int, shard: int = 0) -> Sequence[OutgoingRecord]:
        return [_outgoing(entry, self._invite_of(entry)) for entry in self._forward(after, limit, shard)]

    def _invite_of(self, entry: _Stored) -> str:
        return self._streams[entry.record.stream].invite

    async def results(self, after: int, limit: int, shard: int = 0) -> Sequence[LogEntry]:
        ends = [entry for entry in self._logs[shard][after:] if entry.record.type == GAME_END][:limit]
        return [
            _entry(end, private=bool(self._invite_of(end)), pace=self._streams[end.record.stream].pace) for end in ends
        ]

    async def last_records(self, after: str, limit: int, shard: int = 0) -> Sequence[LastRecord]:
        streams = sorted(
            name
            for name, stream in self._streams.items()
            if name > after and stream.records and not stream.archived and shard_of(name, self.shards) == shard
        )
        newest = [self._streams[name].records[-1] for name in streams[:limit]]
        return [
            LastRecord(entry.record.stream, entry.record.type, entry.record.schema_version, entry.closes)
            for entry in newest
        ]

    async def position(self, shard: int = 0) -> int:
        return len(self._logs[shard])

    async def archived_to(self, shard: int = 0) -> int:
        return max(self._archived_positions[shard], default=0)

    async def due(self, game: str, now: datetime, limit: int) -> Sequence[str]:
        ready = [(stream.due, stream.name) for stream in self._of(game) if stream.due is not None and stream.due <= now]
        return [name for _, name in sorted(ready)[:limit]]

    async def games(
        self,
        game: str,
        *,
        phase: str | None,
        before: tuple[datetime, str] | None,
        limit: int,
        idle_since: datetime | None = None,
        running: bool = False,
        opened_by: str | None = None,
        agent: str | None = None,
        hidden: bool = False,
        invite: str | None = None,
        tournament: str | None = None,
    ) -> Sequence[ListedGame]:
        mine = None if opened_by is None else self._opened_by(opened_by)
        found = [
            line
            for line in (stream.listed() for stream in self._of(game))
            if line is not None
            and (mine is None or line.stream in mine)
            and (agent is None or self._sits(line.stream, agent))
            and (line.summary.invite == invite if invite else hidden or not line.summary.hidden)
            and (tournament is None or (line.summary.tournament and line.summary.tournament.id == tournament))
            and phase in (None, line.summary.phase)
            and (before is None or (line.created_at, line.stream) < before)
            and (idle_since is None or line.updated_at <= idle_since)
            and not (line.summary.over and (running or idle_since is not None))
        ]
        return sorted(found, key=lambda line: (line.created_at, line.stream), reverse=True)[:limit]

    def _sits(self, stream: str, agent: str) -> bool:
        seated = False
        for entry in self._streams[stream].records:
            record = entry.record
            if record.type in ("agent_joined", "agent_left") and msgspec.json.decode(record.data)["agent_id"] == agent:
                seated = record.type == "agent_joined"
        return seated

    def _opened_by(self, actor: str) -> set[str]:
        kept = (stream for stream in self._streams.values() if not stream.archived)
        firsts = ((stream.name, stream.records[0].record.metadata) for stream in kept)
        return {name for name, metadata in firsts if msgspec.json.decode(metadata)["actor"] == actor}

    def _of(self, game: str) -> Iterator[_Stream]:
        return (stream for stream in self._streams.values() if stream.game == game)


def _stored(stream: str, new: NewRecord, position: int) -> _Stored:
    record = Record(
        stream=stream,
        version=new.version,
        position=position,
        type=new.type,
        schema_version=new.schema_version,
        data=msgspec.Raw(new.data),
        metadata=msgspec.Raw(new.metadata),
        at=rfc3339(new.at),
        salt=new.salt,
        prev_hash=new.prev_hash,
        hash=new.hash,
    )
    return _Stored(record, new.closes)


def _entry(stored: _Stored, *, private: bool = False, pace: Pace = DEFAULT_PACE) -> LogEntry:
    return LogEntry(record=stored.record, closes=stored.closes, private=private, pace=pace)


def _outgoing(entry: _Stored, invite: str) -> OutgoingRecord:
    record = entry.record
    encoded = msgspec.json.encode(record)
    return OutgoingRecord(
        record.position, record.stream, record.type, encoded, entry.closes,
        "" if entry.closes else invite,
    )  # fmt: skip
