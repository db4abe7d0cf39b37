"""What travels beside the messages of games and routes: headers, heartbeats, answers between services."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.game_messages import PublicMessage
from playmolt_schemas.subjects import CLOSES_HEADER, INVITE_HEADER, TRACE_HEADER

DISCOVERY: Final = "$SRV.PING.{service}"

Count = Annotated[int, Meta(ge=0)]
Hex64 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
TraceContext = Annotated[str, Meta(pattern="^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$")]
Empty = Annotated[str, Meta(max_length=0)]


class ProgressMessage(PublicMessage, frozen=True, kw_only=True, tag="progress"):
    """An event with nothing to tell to this viewer; it keeps the count of versions without a hole."""


class Heartbeat(msgspec.Struct, frozen=True, tag_field="type", tag="heartbeat"):
    """Nothing happened. `version` is the newest one of the feed, 0 in the lobby."""

    version: Count


class ProjectionsPosition(msgspec.Struct, frozen=True):
    """The position up to which the projections hold the log; of several shards the sum."""

    position: Count


class ShardLag(msgspec.Struct, frozen=True):
    """The position of a shard, of its two copies in NATS, and of the projections of it."""

    shard: Count
    log: Count
    events: Count
    spectate: Count
    projections: Count


class Lag(msgspec.Struct, frozen=True):
    """The position of the log, of its two copies in NATS, and of the projections; of several shards the sums."""

    log: Count
    events: Count
    spectate: Count
    projections: Count
    shards: list[ShardLag] | UnsetType = UNSET


def lag_of(shards: list[ShardLag]) -> Lag:
    """The lag of a log that has these shards."""
    return Lag(
        log=sum(each.log for each in shards),
        events=sum(each.events for each in shards),
        spectate=sum(each.spectate for each in shards),
        projections=sum(each.projections for each in shards),
        shards=shards if len(shards) > 1 else UNSET,
    )


class HistoryRequest(msgspec.Struct, frozen=True):
    """Which public messages of a game are wanted: at most `limit` after a version; more may come, in order."""

    game: str
    game_id: str
    after: Count
    limit: Count


class LogPageRequest(msgspec.Struct, frozen=True):
    """Which records of the whole log are wanted: at most `limit` behind a place, as `shards.write_places` has it."""

    after: str
    limit: Count


class LogRefused(msgspec.Struct, frozen=True):
    """Why there is no page behind that place."""

    after: str


class ConsumerRequest(msgspec.Struct, frozen=True):
    """A consumer of one of the two streams, as JetStream's own API has it; one that delivers by itself is refused."""

    stream_name: str
    config: dict[str, Any]


class PresenceMetadata(msgspec.Struct, frozen=True):
    """An engine's game type, its own name on the bus, and the event types it stores, comma separated."""

    game: str | UnsetType = UNSET
    instance: str | UnsetType = UNSET
    schemas: str | UnsetType = UNSET


class Presence(msgspec.Struct, frozen=True):
    """A service instance that is there (NATS services API, ping response). Only engines have metadata."""

    name: str
    id: str
    version: str
    type: Literal["io.nats.micro.v1.ping_response"]
    metadata: PresenceMetadata


class Announcement(Presence, frozen=True):
    """A service instance that is there, or `leaving`: it takes no more requests and finishes what it took."""

    leaving: bool


class FenceHeaders(msgspec.Struct, frozen=True):
    """Stored behind the expected sequence or not at all; the batch headers stand on batches of more than one."""

    expected: str | UnsetType = msgspec.field(name="Nats-Expected-Last-Sequence", default=UNSET)
    batch: str | UnsetType = msgspec.field(name="Nats-Batch-Id", default=UNSET)
    number: str | UnsetType = msgspec.field(name="Nats-Batch-Sequence", default=UNSET)
    commit: Literal["1"] | UnsetType = msgspec.field(name="Nats-Batch-Commit", default=UNSET)


class PublicHeaders(FenceHeaders, frozen=True):
    """As for a full record; a message that closes the feed of its game says so, all others of a private game carry the
    hash of its invite, one of a traced request names it."""

    closes: Literal["1"] | UnsetType = msgspec.field(name=CLOSES_HEADER, default=UNSET)
    invite: str | UnsetType = msgspec.field(name=INVITE_HEADER, default=UNSET)
    trace: TraceContext | UnsetType = msgspec.field(name=TRACE_HEADER, default=UNSET)
