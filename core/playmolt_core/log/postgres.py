"""The event log in Postgres: the source of truth."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import asyncpg
import msgspec
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.identifiers import is_lobby, is_sealed_type, rfc3339
from playmolt_schemas.records import Record
from playmolt_schemas.shards import Places, shard_of
from playmolt_schemas.stored.values import Fault, GameLanguage, Pace, TournamentGame

from playmolt_core.db.migrate import counted_shards
from playmolt_core.db.pool import Connection, Pool, UniqueViolation, queries
from playmolt_core.log.batch import Batch, batch_of, check, extends, positions, rounds
from playmolt_core.log.port import (
    ALL,
    WHOLE,
    Appended,
    Archived,
    Decided,
    Head,
    LastRecord,
    ListedGame,
    LogEntry,
    NewKey,
    Outcome,
    OutgoingRecord,
    Part,
    Present,
    StoredFacts,
    StoredRecord,
    StoredSnapshot,
    StoredStream,
    Unit,
)
from playmolt_core.log.sealing import UNOPENED, Codec, opened_entry, opened_events, opened_outcome
from playmolt_core.log.stored_rows import TYPE, Origins, entry_of, records_of, unknown_origins
from playmolt_core.vault import rows as vault
from playmolt_core.vault.stream_key import StreamKey
from playmolt_core.vault.vault import Erased

_SQL = queries("log")
_OUTCOME_KEY: Final = "outcome_pkey"
_MOST_VERSIONS = 2**31 - 1
_MOST_POSITIONS = 2**63 - 1
_MOST_READS: Final = 5
_LATEST = (datetime.max.replace(tzinfo=UTC), "")


async def append_on(connection: Connection, batch: Batch) -> tuple[Sequence[int], Sequence[int]]:
    """Call `log.append`: the numbers of the units in conflict; without any, the positions before the batch by shard."""
    parts, *others, shards, amounts = batch
    if len(shards) == 1 and not any(others):  # asyncpg encodes three arrays less
        ((refused, bases),) = await connection.fetch(_SQL["append_records"], parts, shards[0], amounts[0])
    else:
        ((refused, bases),) = await connection.fetch(_SQL["append"], *batch)
    return refused, bases


class PostgresLog:
    """Implements `port.EventLog`. Appends use one connection, one after another; so do reads by position, on a second
    one. All other reads use the shared connections."""

    def __init__(self, pool: Pool, shards: int = 1, codec: Codec = UNOPENED) -> None:
        self._pool = pool
        self._shards = shards
        self._codec = codec
        self.register = Register(pool)
        """The register of archived streams."""
        self._writer = pool.reserve()
        self._appending = asyncio.Lock()
        self._types: set[str] = set()
        """The types of events that the database is known to have."""
        self._names: Mapping[int, str] = {}
        """The types of events by their number, as far as they have been read."""
        self._reader = pool.reserve(_SQL["settle_reader"])

    @property
    def shards(self) -> int:
        return self._shards

    async def append(self, units: Sequence[Unit]) -> Sequence[Appended | None]:
        check(units)
        spoilt: set[str] = set()
        appended: dict[int, Appended] = {}
        async with self._appending:
            for batch in rounds(units):
                sound = batch
                if spoilt:
                    sound = [each for each in batch if spoilt.isdisjoint(part.stream for part in units[each].streams)]
                appended |= await self._store(units, sound)
                # A unit that depends on one that is not stored must not be stored either.
                spoilt |= {part.stream for each in batch if each not in appended for part in units[each].streams}
        return [appended.get(number) for number in range(len(units))]

    def _shard_of(self, stream: str) -> int:
        return shard_of(stream, self._shards)

    async def _store(self, units: Sequence[Unit], numbers: Sequence[int]) -> dict[int, Appended]:
        """Store units without a common stream, except those in conflict; return the positions of the stored ones."""
        waiting = [number for number in numbers if extends(units[number])]
        while stored := [number for number in waiting if units[number].streams]:
            sound = [units[number] for number in stored]
            await self._enter_types(sound)
            batch = batch_of(sound, self._shards)
            try:
                refused, bases = await self._call(batch, sound)
            except UniqueViolation as error:
                if error.constraint_name != _OUTCOME_KEY:
                    raise  # an event beyond the end of the stream: it must be seen
                found: dict[int, Appended] = dict.fromkeys((each for each in waiting if each not in stored), ())
                for one in stored if len(stored) > 1 else ():
                    found |= await self._store(units, [one])
                return found
            if not refused:
                firsts = positions(sound, batch, bases, self._shards)
                return dict.fromkeys(waiting, ()) | dict(zip(stored, firsts, strict=True))
            waiting = [number for number in waiting if number not in {stored[place] for place in refused}]
        return dict.fromkeys(waiting, ())

    async def _enter_types(self, units: Sequence[Unit]) -> None:
        """In a transaction of its own: an append must not hold what other engines' new types wait for."""
        used = {record.type for unit in units for part in unit.streams for record in part.records}
        if not used <= self._types:
            await self._pool.fetch(_SQL["enter_types"], list(used))
            self._types |= used

    async def _call(self, batch: Batch, units: Sequence[Unit]) -> tuple[Sequence[int], Sequence[int]]:
        """Store a batch, all or none; see `append_on`."""
        new = [(place, part.key) for place, unit in enumerate(units) for part in unit.streams if part.key]
        if not new:
            async with self._writer.use() as writer:
                return await append_on(writer, batch)
        try:
            return (), await self._call_with_keys(batch, new)
        except _InConflict as conflict:
            return conflict.places, ()

    async def _call_with_keys(self, batch: Batch, new: Sequence[tuple[int, NewKey]]) -> Sequence[int]:
        """In one transaction: a session has a key exactly when it has a record."""
        made = [self._codec.row(one) for _, one in new]
        async with self._writer.use() as writer, writer.transaction():
            await vault.enter(writer, self._pool.role)
            kept = await vault.make(writer, made)
            await vault.leave(writer, self._pool.role)
            if places := [place for place, one in new if one.key.stream not in kept]:
                raise _InConflict(places)
            refused, bases = await append_on(writer, batch)
            if refused:
                raise _InConflict(refused)
            return bases

    def new_key(self, stream: str, /) -> StreamKey | None:
        return self._codec.new_key(stream)

    async def load(self, stream: str, after: int = 0) -> StoredStream | None:
        shard = self._shard_of(stream)
        async with self._pool.connection() as connection:
            found = await connection.fetchrow(_SQL["head"], stream, shard)
            if found is None:
                return None
            version, last, at, archived, erased_at = found
            self._check_readable(stream, erased_at, archived=archived)
            if version is None:
                return None
            # Records never change, so a read up to that version is a snapshot.
            records = (_SQL["records"], stream, after, version, shard)
            fetched = await connection.fetch(*records) if version > after else ()
        head, key = Head(version=version, hash=last.hex(), at=at), await self._codec.key(stream)
        stored = [_record(*row) for row in fetched]
        opened = [self._codec.opened(record, key) for record in stored] if key else stored
        return StoredStream(head=head, records=opened, key=key)

    def _check_readable(self, stream: str, erased_at: datetime | None, *, archived: bool) -> None:
        if erased_at is not None:
            self._codec.forget(stream)
            raise Erased(stream, erased_at)
        if archived:
            raise Archived(stream)

    async def facts(
        self, stream: str, after: int = 0, *, most: int = ALL, commands: bool = False
    ) -> StoredFacts | None:
        last = min(after + most, ALL)
        found = await self._pool.row(_SQL["facts"], stream, after, commands, self._shard_of(stream), last)
        if found is None:
            return None
        version, last, at, archived, erased_at, events, times, command_ids = found
        self._check_readable(stream, erased_at, archived=archived)
        if version is None:
            return None
        head, key = Head(version=version, hash=last.hex(), at=at), await self._codec.key(stream)
        events = opened_events(events, key, after) if key else events
        return StoredFacts(head=head, events=events, times=times, command_ids=command_ids, key=key)

    async def snapshot(self, stream: str) -> StoredSnapshot | None:
        row = await self._pool.row(_SQL["snapshot"], stream, self._shard_of(stream))
        return StoredSnapshot(row[0], row[1].hex(), row[2].encode()) if row else None

    async def keep_snapshot(self, stream: str, snapshot: StoredSnapshot) -> None:
        kept = (snapshot.version, bytes.fromhex(snapshot.hash), snapshot.state.decode())
        await self._pool.fetch(_SQL["keep_snapshot"], stream, self._shard_of(stream), *kept)

    async def outcome(self, stream: str, command_id: str) -> Outcome | Decided | None:
        found = await self._outcome(stream, command_id)
        return await opened_outcome(found, self._codec, stream) if found else None

    async def _outcome(self, stream: str, command_id: str) -> Outcome | Decided | None:
        shard = self._shard_of(stream)
        if kept := await self._pool.row(_SQL["outcome"], stream, command_id, shard):
            return Outcome(stream=stream, command_id=command_id, fingerprint=kept[0], body=kept[1])
        if is_lobby(stream):
            return None  # its answers are always stored, and it has a record for every join
        row = await self._pool.row(_SQL["decided"], stream, command_id, shard)
        return Decided(version=row[0], receipt=row[1].hex(), fingerprint=row[2] or "") if row else None

    async def note_fault(self, stream: str, fault: Fault) -> bool:
        return bool(await self._pool.value(_SQL["note_fault"], stream, fault.agent_id, fault.kind, fault.what))

    async def counted_faults(self, stream: str) -> Sequence[Fault]:
        rows = await self._pool.fetch(_SQL["report_faults"], stream)
        return [Fault(agent_id=agent, kind=kind, what=what, count=count) for agent, kind, what, count in rows]

    async def versions(self, streams: Iterable[str]) -> dict[str, int]:
        rows = await self._pool.fetch(_SQL["versions"], list(streams))
        return {row["stream"]: row["version"] for row in rows}

    async def present(self, streams: Iterable[str]) -> Present:
        rows = await self._pool.fetch(_SQL["present"], list(streams))
        versions = {row["stream"]: row["version"] for row in rows}
        revision = versions.pop("")
        return Present(versions, revision)

    async def forward(self, after: int, limit: int, shard: int = 0) -> Sequence[LogEntry]:
        return await self._opened([entry_of(stored) for stored in await self._stored(after, limit, shard, WHOLE)])

    async def forward_part(self, after: int, limit: int, shard: int, part: Part) -> Sequence[LogEntry | StoredRecord]:
        found = await self._stored(after, limit, shard, part)
        sealed = set(filter(is_sealed_type, {stored.stream for stored in found}))
        if not sealed:
            return found
        sealable = [entry_of(stored) for stored in found if stored.stream in sealed]
        opened = {entry.record.position: entry for entry in await self._opened(sealable)}
        return [opened.get(stored.position, stored) for stored in found]

    async def _stored(self, after: int, limit: int, shard: int, part: Part) -> Sequence[StoredRecord]:
        for _ in range(_MOST_READS):
            rows: Sequence[Any] = await self._by_position("forward", after, limit, shard, *part)
            origins = await self._origins(rows, shard)
            if len(origins) == len(unknown_origins(rows)):
                break
            # A stream was archived after its records were read: they no longer exist.
        return list(records_of(rows, self._names, origins))

    async def _origins(self, rows: Sequence[Any], shard: int) -> Origins:
        if not self._names.keys() >= {row[TYPE] for row in rows}:
            named: Sequence[Any] = await self._reader.fetch(_SQL["event_types"])
            self._names = dict(named)
        unknown = unknown_origins(rows)
        found = await self._reader.fetch(_SQL["origins"], *([each[at] for each in unknown] for at in (0, 1)), shard)
        return {(number, version): (stream, last) for number, version, stream, last in found}

    async def _opened(self, entries: Sequence[LogEntry]) -> Sequence[LogEntry]:
        keys = await self._codec.keys(entry.record.stream for entry in entries)
        return [opened_entry(entry, self._codec, keys) for entry in entries] if keys else entries

    async def stream_types(self) -> Sequence[str]:
        """The types of all streams."""
        return [name for (name,) in await self._pool.fetch(_SQL["stream_types"])]

    async def forward_positions(self, after: int, limit: int, shard: int = 0) -> Sequence[int]:
        return [position for (position,) in await self._by_position("forward_positions", after, limit, shard)]

    async def missing_partitions(self, shard: int = 0) -> Sequence[str]:
        return [name for (name,) in await self._pool.fetch(_SQL["missing_partitions"], shard)]

    async def outgoing(self, after: int, limit: int, shard: int = 0) -> Sequence[OutgoingRecord]:
        return [OutgoingRecord(*row) for row in await self._by_position("outgoing", after, limit, shard)]

    async def results(self, after: int, limit: int, shard: int = 0) -> Sequence[LogEntry]:
        return await self._entries("results", after, limit, shard)

    async def last_records(self, after: str, limit: int, shard: int = 0) -> Sequence[LastRecord]:
        return [LastRecord(*row) for row in await self._pool.fetch(_SQL["last_records"], after, limit, shard)]

    async def _entries(self, query: str, after: int, limit: int, shard: int, *part: int) -> Sequence[LogEntry]:
        rows = await self._by_position(query, after, limit, shard, *part)
        return [
            LogEntry(record=_record(*fields), closes=closes, private=private, pace=pace)
            for *fields, closes, private, pace in rows
        ]

    async def _by_position(
        self, query: str, after: int, limit: int, shard: int, *part: int
    ) -> Sequence[asyncpg.Record]:
        return await self._reader.fetch(_SQL[query], min(after, _MOST_POSITIONS), limit, shard, *part)

    async def position(self, shard: int = 0) -> int:
        ((position,),) = await self._pool.poll(_SQL["position"], shard)
        return int(position)

    async def archived_to(self, shard: int = 0) -> int:
        return int(await self._pool.value(_SQL["archived_to"], shard))

    async def due(self, game: str, now: datetime, limit: int) -> Sequence[str]:
        return [stream for (stream,) in await self._pool.poll(_SQL["due"], game, now, limit)]

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
        page = (game, *(before or _LATEST), limit)
        if invite is not None:
            rows = await self._pool.fetch(_SQL["game_of_invite"], game, invite)
        elif opened_by is not None:
            rows = await self._pool.fetch(_SQL["games_opened_by"], *page, opened_by)
        elif agent is not None:
            rows = await self._pool.fetch(_SQL["games_of_agent"], *page, phase, agent, tournament)
        elif tournament is not None:
            rows = await self._pool.fetch(_SQL["games_of_tournament"], *page, tournament, phase, running)
        elif running or idle_since is not None:
            rows = await self._pool.fetch(_SQL["games_running"], *page, phase, idle_since, hidden)
        elif phase is not None:
            rows = await self._pool.fetch(_SQL["games_in_phase"], *page, phase, hidden)
        else:
            rows = await self._pool.fetch(_SQL["games"], *page, hidden)
        return [_game(*row) for row in rows]


class _InConflict(Exception):
    def __init__(self, places: Sequence[int]) -> None:
        super().__init__()
        self.places = places


async def log_places(pool: Pool) -> Places:
    """The end of each shard of the log. Raises LogUnavailable."""
    return tuple([position for (position,) in await pool.fetch(_SQL["positions"])])


async def shards_of(pool: Pool, wanted: int | None = None) -> int:
    """The number of shards of the log. Raises OtherShards if `wanted` is another number, and LogUnavailable."""
    async with pool.connection() as connection:
        return await counted_shards(connection, wanted)


async def log_of(pool: Pool) -> PostgresLog:
    """The log of a database, with its number of shards. Raises LogUnavailable."""
    return PostgresLog(pool, await shards_of(pool))


def _record(
    stream: str,
    version: int,
    position: int,
    type: str,  # noqa: A002 -- the record's own field name
    schema_version: int,
    data: str,
    metadata: str,
    at: datetime,
    salt: bytes,
    prev_hash: bytes,
    hash: bytes,  # noqa: A002 -- the record's own field name
) -> Record:
    return Record(
        stream=stream,
        version=version,
        position=position,
        type=type,
        schema_version=schema_version,
        data=msgspec.Raw(data.encode()),
        metadata=msgspec.Raw(metadata.encode()),
        at=rfc3339(at),
        salt=salt.hex(),
        prev_hash=prev_hash.hex(),
        hash=hash.hex(),
    )


def _game(
    stream: str,
    phase: str,
    round: int,  # noqa: A002 -- the summary's own field name
    seated: int,
    needed: int,
    over: bool,
    created_at: datetime,
    updated_at: datetime,
    version: int,
    language: GameLanguage,
    pace: Pace,
    invite: str,
    tournament: str | None,
    tournament_round: int | None,
) -> ListedGame:
    belongs = None if tournament is None or tournament_round is None else TournamentGame(tournament, tournament_round)
    summary = GameSummary(
        phase=phase, round=round, seated=seated, needed=needed, over=over, language=language, pace=pace, invite=invite,
        tournament=belongs,
    )  # fmt: skip
    return ListedGame(stream=stream, summary=summary, created_at=created_at, updated_at=updated_at, version=version)


Gap = tuple[int, int]
"""The first and last of a range of missing positions."""


class ArchivedStream(msgspec.Struct, frozen=True):
    """The end of an archived stream, and the file with its records."""

    version: int
    hash: str
    file: str


class ArchiveTotals(msgspec.Struct, frozen=True):
    """The number of archived streams and of their records."""

    streams: int
    events: int


class Register:
    """The register of archived streams. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def of(self, streams: Iterable[str]) -> Mapping[str, ArchivedStream]:
        rows = await self._pool.fetch(_SQL["archived"], list(streams))
        return {stream: ArchivedStream(version, end.hex(), file) for stream, version, end, file in rows}

    async def unaccounted(self, gaps: Sequence[Gap], shard: int = 0) -> Sequence[Gap]:
        """The gaps of a shard without the positions of archived records."""
        if not gaps:
            return ()
        ranges = ",".join(f"[{first},{last}]" for first, last in gaps)
        rows = await self._pool.fetch(_SQL["unaccounted"], f"{{{ranges}}}", shard)
        return [(first, last) for first, last in rows]

    async def totals(self) -> ArchiveTotals:
        found = await self._pool.row(_SQL["totals"])
        return ArchiveTotals(*found) if found else ArchiveTotals(0, 0)
