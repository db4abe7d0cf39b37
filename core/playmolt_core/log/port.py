"""The port of the event log. Postgres implements it; unit tests use an in-memory twin.

Both pass the same contract suite (core/tests/log/log_contract.py).
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple, Protocol

import msgspec
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.records import Record
from playmolt_schemas.stored.values import DEFAULT_PACE, Fault, Pace

from playmolt_core.vault.stream_key import StreamKey

GAME_END: Final = "game_end"
"""The type of the event that ends a game with results, in every game: `data.results` is [{agent_id, points, …}]."""


ARCHIVED: Final = -1
"""The result of `versions` for an archived stream."""


ALL: Final = 2**31 - 1
"""More events than a stream has."""


ERASED: Final = -2
"""The result of `versions` for an erased session."""


class NewRecord(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A record in its chain, without a position yet. `public` is its message for spectators, which is not stored."""

    version: int
    type: str
    schema_version: int
    data: bytes
    metadata: bytes
    at: datetime
    salt: str
    prev_hash: str
    hash: str
    public: bytes | None = None
    closes: bool = False
    command: str = ""
    """The command that is answered from this record and its other ones; "" for none."""


class Outcome(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The stored answer to a command, for its repetition. `body` is the JSON of the 2xx answer.

    An answer that follows from the records of the command is not stored: `Decided` is found in its place.
    """

    stream: str
    command_id: str
    fingerprint: str
    body: bytes


class Decided(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A command whose answer follows from its records: `version` of the last, hash of the first."""

    version: int
    receipt: str
    fingerprint: str


class NewKey(msgspec.Struct, frozen=True, gc=False):
    """The key that seals a new stream, and the owner of the stream."""

    key: StreamKey
    owner: str


class StreamAppend(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The records that one unit adds to one stream. Without `records` only the version is checked.

    `summary` is the game's summary afterwards (None for other streams); `due` is when its earliest effect is due (None:
    never). Both are written only if the append `moves` the row of the stream.
    """

    stream: str
    expected: int
    prev_hash: str
    records: Sequence[NewRecord]
    summary: GameSummary | None = None
    due: datetime | None = None
    moves: bool = True
    key: NewKey | None = None
    """Stored together with the first record; if the stream has a key already, the unit is in conflict."""


class Committed(NamedTuple):
    """Stored records of a stream: the position of the first, and the invite hash of a private game."""

    stream: str
    first: int
    records: Sequence[NewRecord]
    invite: str


class Unit(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Commands on one or more streams that commit or fail together."""

    streams: Sequence[StreamAppend]
    outcomes: Sequence[Outcome] = ()


Appended = tuple[int, ...]
"""The position of the first record of each stream of a unit, in order.

None in its place means a conflict: a stream was not at the expected version and hash, a command id exists already, or a
game would end with unreported faults. Nothing of the unit is stored. Read the stream and decide again."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    hash: str
    at: datetime


class StoredStream(msgspec.Struct, frozen=True, kw_only=True):
    head: Head
    records: Sequence[Record]
    key: StreamKey | None = None
    """The key of a sealed stream, if the log has opened it."""


class StoredFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A stream for folding, not decoded yet: see `folding.facts_of`."""

    head: Head
    events: str
    """JSON: `["TYPE:SCHEMA_VERSION",DATA]` for each event, in order."""
    times: str
    """JSON: the decision time of each event, in seconds since 1970."""
    command_ids: Sequence[str]
    """The commands with a stored outcome, or one that follows from their records."""
    key: StreamKey | None = None
    """The key of a sealed stream; `events` are opened."""


class StoredSnapshot(msgspec.Struct, frozen=True, gc=False):
    """A state at a version, so that an endless stream is not folded from its first event."""

    version: int
    hash: str
    """The hash of the record of that version."""
    state: bytes
    """JSON."""


class OutgoingRecord(msgspec.Struct, frozen=True, gc=False):
    """A record for the relay, as the JSON of the `Record` in field order."""

    position: int
    stream: str
    type: str
    record: bytes
    closes: bool
    invite: str = ""
    """The invite hash of a private game while it runs."""


class Part(NamedTuple):
    """One of several parts of all streams. The log assigns each stream to one part."""

    number: int
    parts: int


WHOLE: Final = Part(0, 1)


class LogEntry(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    record: Record
    closes: bool
    private: bool = False
    """Whether the game was private; set by `results` only."""
    pace: Pace = DEFAULT_PACE
    """The pace of the game; set by `results` only."""
    key: StreamKey | None = None
    """The key of a sealed stream, if the log has opened it."""


class StoredRecord(msgspec.Struct, frozen=True, gc=False):
    """A record as it is stored, for verification: to make a `Record` of it costs as much as to check its hash.

    `metadata` and `data` are the texts that were hashed. `state_hash`: None if `metadata` was completed from columns
    and has none; UNSET if it has to be read.
    """

    stream: str
    version: int
    position: int
    type: str
    schema_version: int
    data: str
    metadata: str
    at: str
    time: datetime
    """The same as `at`."""
    salt: str
    prev_hash: str
    hash: str
    closes: bool
    state_hash: str | msgspec.UnsetType | None = msgspec.UNSET


class LastRecord(msgspec.Struct, frozen=True, gc=False):
    """The newest record of a stream, without its data."""

    stream: str
    type: str
    schema_version: int
    closes: bool


class ListedGame(msgspec.Struct, frozen=True, kw_only=True):
    stream: str
    summary: GameSummary
    created_at: datetime
    updated_at: datetime
    version: int


class RecordTooLarge(ValueError):
    """A record exceeds 512 KiB; nothing of the batch is stored."""


class Archived(LookupError):
    """The stream's records were moved from the log to the file named in its register."""

    def __init__(self, stream: str) -> None:
        super().__init__(f"{stream} was archived: read its records from the archive")
        self.stream = stream


class Appender(Protocol):
    """Appends to streams and counts faults. Every method may raise LogUnavailable."""

    @property
    def shards(self) -> int:
        """The number of shards of the log; `shards.shard_of` gives the shard of a stream."""
        ...

    async def append(self, units: Sequence[Unit]) -> Sequence[Appended | None]:
        """Store the units in one transaction, each completely or not at all, and return their statuses.

        Positions are gapless and in commit order in each shard. Durable on return. RecordTooLarge refuses the whole
        batch.
        """
        ...

    def new_key(self, stream: str, /) -> StreamKey | None:
        """A key to seal a new stream's records; None if they are not sealed."""
        ...

    async def note_fault(self, stream: str, fault: Fault) -> bool:
        """Count a fault in a running game; False if the game is over, and then nothing is counted."""
        ...

    async def counted_faults(self, stream: str) -> Sequence[Fault]:
        """The faults counted in a running game. It cannot end before this has returned all of them."""
        ...


class StreamReader(Protocol):
    """Reads single streams. Every method may raise LogUnavailable.

    The codec of the log (`sealing`) opens the results of `load`, `facts` and `outcome`. An archived stream keeps only
    its `game_end`, and nothing can be appended to it.
    """

    async def load(self, stream: str, after: int = 0) -> StoredStream | None:
        """Read a stream's records with version > after, in one snapshot; None if the stream does not exist.

        Raises Archived, and Erased for a session that was erased.
        """
        ...

    async def facts(
        self, stream: str, after: int = 0, *, most: int = ALL, commands: bool = False
    ) -> StoredFacts | None:
        """Read the events of a stream with version > after, several times as fast as `load`: at most `most` of them,
        and optionally all its command ids.

        Raises Archived, and Erased for a session that was erased.
        """
        ...

    async def outcome(self, stream: str, command_id: str) -> Outcome | Decided | None:
        """The outcome of a command; None if it is unknown."""
        ...

    async def versions(self, streams: Iterable[str]) -> dict[str, int]:
        """The committed version of each existing stream; ARCHIVED or ERASED for such ones."""
        ...

    async def present(self, streams: Iterable[str]) -> "Present":
        """`versions`, and the newest decision about what is shown, as of one moment."""
        ...

    async def snapshot(self, stream: str) -> StoredSnapshot | None:
        """The newest snapshot of a stream, if the record that it was made from is unchanged."""
        ...

    async def keep_snapshot(self, stream: str, snapshot: StoredSnapshot) -> None:
        """Store a snapshot in place of an older one."""
        ...


class Present(NamedTuple):
    """Streams as of one moment."""

    versions: dict[str, int]
    revision: int
    """Of the newest decision to hide a text or to replace a name, or to take that back."""


class ShardReader(Protocol):
    """Reads shards by position, which belongs to a shard (default: the first). Every method may raise LogUnavailable.

    The codec of the log opens the results of `forward` and `forward_part`, if it is one for tools.
    """

    @property
    def shards(self) -> int:
        """The number of shards of the log; `shards.shard_of` gives the shard of a stream."""
        ...

    async def position(self, shard: int = 0) -> int:
        """The position of the newest record, 0 in an empty shard."""
        ...

    async def archived_to(self, shard: int = 0) -> int:
        """The newest archived position, 0 if there is none: after it there are no gaps."""
        ...

    async def forward(self, after: int, limit: int, shard: int = 0) -> Sequence[LogEntry]:
        """Read a shard forward after a position; never misses a late commit."""
        ...

    async def forward_part(self, after: int, limit: int, shard: int, part: Part) -> Sequence[LogEntry | StoredRecord]:
        """As `forward`, for the records of one part of the streams; only those of sealed types are a LogEntry."""
        ...

    async def forward_positions(self, after: int, limit: int, shard: int = 0) -> Sequence[int]:
        """The positions of the records that `forward` would return."""
        ...

    async def missing_partitions(self, shard: int = 0) -> Sequence[str]:
        """The tables for records of streams of this shard that the database lacks, by name. A copy of the log may lack
        some."""
        ...

    async def outgoing(self, after: int, limit: int, shard: int = 0) -> Sequence[OutgoingRecord]:
        """As `forward`, in the form for services: to make that from a `Record` costs three times as much."""
        ...

    async def results(self, after: int, limit: int, shard: int = 0) -> Sequence[LogEntry]:
        """Read the records of type `game_end` forward after a position; never misses a late commit."""
        ...

    async def last_records(self, after: str, limit: int, shard: int = 0) -> Sequence[LastRecord]:
        """The last records of the streams of a shard after a name, in order of names, without archived streams."""
        ...


class GameIndex(Protocol):
    """Lists games. Every method may raise LogUnavailable."""

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
        """List games newest first (created_at, then id), older than `before`, without archived ones.

        `opened_by`: games that this actor opened; excludes the other filters. `running`: unfinished games;
        `idle_since`: those of them without activity since then. `agent`: games in which the agent has a seat or had it
        to the end; combines with `phase` and `tournament` only. `tournament`: its games; combines with `phase`, `agent`
        and `running` only. `invite`: the private game with this invite hash; excludes the other filters. Private games
        are listed once they are over, with `hidden` also before.
        """
        ...

    async def due(self, game: str, now: datetime, limit: int) -> Sequence[str]: ...


class GameReader(StreamReader, GameIndex, Protocol):
    """What answers queries."""


class LogReader(StreamReader, ShardReader, Protocol):
    """What verifies and copies the log."""


class EngineLog(Appender, GameReader, Protocol):
    """What an engine uses."""


class EventLog(EngineLog, LogReader, Protocol):
    """The whole log."""
