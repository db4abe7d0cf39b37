"""The event log as the rest of the house sees it. Postgres implements it; an in-memory twin serves unit tests.

Both pass the same contract suite (core/tests/log/log_contract.py).
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, Literal, NamedTuple, Protocol

import msgspec
from playmolt_schemas.game_messages import Fault, GameSummary
from playmolt_schemas.records import Record

from playmolt_core.vault.stream_key import StreamKey

GAME_END: Final = "game_end"
"""The type of the event that ends a game with results, in every game: `data.results` is [{agent_id, points, …}]."""


ARCHIVED: Final = -1
"""What `versions` gives for a stream whose records were taken out of the log."""


ERASED: Final = -2
"""What `versions` gives for a session that was erased."""


class NewRecord(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A record in its chain, still without its position, and what goes out for it.

    `public` is the message for spectators (None: the record has no public form), `lobby` the lobby message it causes.
    """

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
    lobby: bytes | None = None
    closes: bool = False
    command: str = ""
    """The command whose answer follows from this record and its others; "" for none."""


class Outcome(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The remembered answer to a command: what a repeat of it gets. `body` is the JSON of the 2xx answer.

    One that `follows` from the records that carry the command is not kept: `Decided` is found in its place.
    """

    stream: str
    command_id: str
    fingerprint: str
    body: bytes
    follows: bool = False


class Decided(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What records say of a command whose answer follows from them: `version` of the last, hash of the first."""

    version: int
    receipt: str
    fingerprint: str


class NewKey(msgspec.Struct, frozen=True, gc=False):
    """The key that a new stream's records are sealed under, and whose stream it is."""

    key: StreamKey
    owner: str


class StreamAppend(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What one unit adds to one stream. `records` may be empty: then only the version is checked.

    `summary` is the game at a glance afterwards (None for a stream that is no game); `due` is when the host has to look
    at the stream again by itself (its earliest effect), None for never. Where it `moves` both are written; else
    they are as they were.
    """

    stream: str
    expected: int
    prev_hash: str
    records: Sequence[NewRecord]
    summary: GameSummary | None = None
    due: datetime | None = None
    moves: bool = True
    key: NewKey | None = None
    """Kept together with the first record; where there is one already, the unit is in conflict."""


class Unit(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What commits or fails together: one or more commands on one or more streams."""

    streams: Sequence[StreamAppend]
    outcomes: Sequence[Outcome] = ()


AppendStatus = Literal["appended", "conflict"]
"""`conflict`: a stream was not at the expected version and hash, a command id is already there, or a game would be over
with faults that nobody was told of; nothing of the unit is stored. Read the stream again and decide again."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    hash: str
    at: datetime


class StoredStream(msgspec.Struct, frozen=True, kw_only=True):
    head: Head
    records: Sequence[Record]


class StoredFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A stream for folding, unread: `fold.facts_of` reads it."""

    head: Head
    events: str
    """JSON: `["TYPE:SCHEMA_VERSION",DATA]` for each event, in order."""
    times: str
    """JSON: for each event, when it was decided, in seconds since 1970."""
    command_ids: Sequence[str]
    """Of the commands whose outcome is remembered, or follows from their records."""
    key: StreamKey | None = None
    """Of a stream whose records are sealed; `events` stand open."""


class StoredSnapshot(msgspec.Struct, frozen=True, gc=False):
    """A state as of a version, kept so that a stream that never ends is not folded from its first event."""

    version: int
    hash: str
    """Of the record of that version."""
    state: bytes
    """JSON."""


class OutgoingRecord(msgspec.Struct, frozen=True, gc=False):
    """What goes out for a record: what the relay reads. `record` is the JSON of the whole `Record`, in its order."""

    position: int
    stream: str
    type: str
    record: bytes
    public: bytes | None
    lobby: bytes | None
    closes: bool
    invite: str = ""
    """The hash of the invite of a private game, as long as the game runs."""


class Part(NamedTuple):
    """One of several parts of all streams. Which streams are in it is the log's own affair; each is in one."""

    number: int
    parts: int


WHOLE: Final = Part(0, 1)


class LogEntry(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    record: Record
    closes: bool
    private: bool = False
    """Of what `results` gives: whether the game was private."""


class LastRecord(msgspec.Struct, frozen=True, gc=False):
    """What the newest record of a stream says of its end."""

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
    """A record over 512 KiB; nothing of the batch is stored."""


class Archived(LookupError):
    """The stream's records were taken out of the log and are in a file that its register names."""

    def __init__(self, stream: str) -> None:
        super().__init__(f"{stream} was archived: its records are no longer in the log")
        self.stream = stream


class EventLog(Protocol):
    """Append and read. Every method raises LogUnavailable when the database is away.

    Records are read as they are stored. An engine's log of sessions (`sealed_log`) opens what `load`, `facts` and
    `outcome` give; its streams that were erased raise Erased.

    Of an archived stream nothing is left but its `game_end`, and nothing can be appended to it.

    Positions are those of one shard: what reads by position names it, and reads the first where it does not.
    """

    @property
    def shards(self) -> int:
        """How many shards the log has; a stream lies in that of `shards.shard_of`."""
        ...

    async def append(self, units: Sequence[Unit]) -> Sequence[AppendStatus]:
        """Store the units in one transaction, each whole or not at all, and give a status each.

        Positions are gapless and in commit order in each shard. Durable when it returns. RecordTooLarge
        refuses the whole batch.
        """
        ...

    def new_key(self, stream: str, /) -> StreamKey | None:
        """A key to seal a new stream's records with; None where they stay open."""
        ...

    def key_of(self, stream: str, /) -> StreamKey | None:
        """The key of a stream that `forward` or `load` read last and opened; None where it is as it is stored."""
        ...

    async def load(self, stream: str, after: int = 0) -> StoredStream | None:
        """Read a stream's records with version > after, as of one moment; None when the stream is unknown.

        Raises Archived, and Erased for a session that was erased.
        """
        ...

    async def facts(self, stream: str, after: int = 0, *, commands: bool = False) -> StoredFacts | None:
        """Read what a fold needs of a stream, several times as fast as `load`, and, if asked, all its command ids.

        Raises Archived, and Erased for a session that was erased.
        """
        ...

    async def snapshot(self, stream: str) -> StoredSnapshot | None:
        """The newest snapshot of a stream, if its record is still what it was made from."""
        ...

    async def keep_snapshot(self, stream: str, snapshot: StoredSnapshot) -> None:
        """Keep a snapshot in place of an older one."""
        ...

    async def outcome(self, stream: str, command_id: str) -> Outcome | Decided | None:
        """What a command came to; None when nothing is remembered of it."""
        ...

    async def note_fault(self, stream: str, fault: Fault) -> bool:
        """Count what a refusal counts as, once more, until the game is over; False when it is: nothing is counted."""
        ...

    async def counted_faults(self, stream: str) -> Sequence[Fault]:
        """What was counted in a game that is not over. It is not over before all of that was told here."""
        ...

    async def versions(self, streams: Iterable[str]) -> dict[str, int]:
        """The committed version of each stream that exists, ARCHIVED for an archived one, ERASED for an erased one."""
        ...

    async def public(self, stream: str, after: int, limit: int) -> Sequence[bytes]:
        """The stored public messages with version > after, in order."""
        ...

    async def forward(self, after: int, limit: int, shard: int = 0) -> Sequence[LogEntry]:
        """Read a shard forward from a position; never misses a late commit."""
        ...

    async def forward_part(self, after: int, limit: int, shard: int, part: Part) -> Sequence[LogEntry]:
        """As `forward`, the records of one part of the streams alone."""
        ...

    async def forward_positions(self, after: int, limit: int, shard: int = 0) -> Sequence[int]:
        """The positions of the records that `forward` would give."""
        ...

    async def outgoing(self, after: int, limit: int, shard: int = 0) -> Sequence[OutgoingRecord]:
        """Read what `forward` reads, as it goes out: to make it for services from a `Record` costs three times more."""
        ...

    async def results(self, after: int, limit: int, shard: int = 0) -> Sequence[LogEntry]:
        """Read the records of type `game_end` forward from a position; never misses a late commit."""
        ...

    async def last_records(self, after: str, limit: int, shard: int = 0) -> Sequence[LastRecord]:
        """Of the streams of a shard behind a name, in their order; archived ones are left out."""
        ...

    async def position(self, shard: int = 0) -> int:
        """The position of the newest record, 0 in an empty shard."""
        ...

    async def archived_to(self, shard: int = 0) -> int:
        """The newest position whose record was taken out, 0 when none was: behind it there is no hole."""
        ...

    async def due(self, game: str, now: datetime, limit: int) -> Sequence[str]: ...

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
    ) -> Sequence[ListedGame]:
        """List games newest first (created_at, then id), older than `before`; archived ones are left out.

        `opened_by` keeps those whose first record has this actor; it goes with none of the others. `running` keeps
        those that are not over; `idle_since` those of them that nothing happened in since then. `agent` keeps those in
        which that agent sits or sat to the end; it goes with `phase` alone. `invite` gives the private game of this
        hash of an invite, and goes with none of the others. Private games are listed once they are over; where `hidden`
        ones are asked for, before that, too.
        """
        ...
