"""Messages besides those of games and routes: headers, heartbeats, requests and answers between services."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.feed_messages import PublicMessage
from playmolt_schemas.subjects import CLOSES_HEADER, INVITE_HEADER, TRACE_HEADER

DISCOVERY: Final = "$SRV.PING.{service}"

Count = Annotated[int, Meta(ge=0)]
Hex64 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
TraceContext = Annotated[str, Meta(pattern="^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$")]
SubjectId = Annotated[str, Meta(pattern="^(agent|owner)-[0-9a-f-]{36}$")]
Empty = Annotated[str, Meta(max_length=0)]


class ProgressMessage(PublicMessage, frozen=True, kw_only=True, tag="progress"):
    """An event without content for this viewer; it keeps the versions of the feed contiguous."""


class Heartbeat(msgspec.Struct, frozen=True, tag_field="type", tag="heartbeat"):
    """Sent when there are no messages. `version` is the latest version of the feed; 0 in the lobby."""

    version: Count


class ProjectionsPosition(msgspec.Struct, frozen=True):
    """The position up to which the projections include the log; with several shards, the sum."""

    position: Count


class ShardLag(msgspec.Struct, frozen=True):
    """The positions of a shard, of its two copies in NATS, and of its projections."""

    shard: Count
    log: Count
    events: Count
    spectate: Count
    projections: Count


class Lag(msgspec.Struct, frozen=True):
    """The positions of the log, of its two copies in NATS, and of the projections; with several shards, the sums."""

    log: Count
    events: Count
    spectate: Count
    projections: Count
    shards: list[ShardLag] | UnsetType = UNSET


def lag_of(shards: list[ShardLag]) -> Lag:
    """The lag of a log with these shards."""
    return Lag(
        log=sum(each.log for each in shards),
        events=sum(each.events for each in shards),
        spectate=sum(each.spectate for each in shards),
        projections=sum(each.projections for each in shards),
        shards=shards if len(shards) > 1 else UNSET,
    )


class HistoryRequest(msgspec.Struct, frozen=True):
    """Request for public messages of a game: `limit` messages after a version; more may arrive, in order."""

    game: str
    game_id: str
    after: Count
    limit: Count


class LogPageRequest(msgspec.Struct, frozen=True):
    """Request for records of the whole log: at most `limit` after a place, as formatted by `shards.write_places`."""

    after: str
    limit: Count


class LogRefused(msgspec.Struct, frozen=True):
    """Why the requested page does not exist."""

    after: str


class ConsumerRequest(msgspec.Struct, frozen=True):
    """A consumer of one of the two streams, as in the JetStream API; push consumers are refused."""

    stream_name: str
    config: dict[str, Any]


class PresenceMetadata(msgspec.Struct, frozen=True):
    """An engine's game type, its instance name, and the event types that it stores, separated by commas."""

    game: str | UnsetType = UNSET
    instance: str | UnsetType = UNSET
    schemas: str | UnsetType = UNSET


class Presence(msgspec.Struct, frozen=True):
    """A running service instance (NATS services API, ping response). Only engines have metadata."""

    name: str
    id: str
    version: str
    type: Literal["io.nats.micro.v1.ping_response"]
    metadata: PresenceMetadata


class Announcement(Presence, frozen=True):
    """A running service instance. `leaving`: it accepts no more requests and finishes the accepted ones."""

    leaving: bool


class FenceHeaders(msgspec.Struct, frozen=True):
    """Stored only after the expected sequence. The batch headers are present on batches of more than one message."""

    expected: str | UnsetType = msgspec.field(name="Nats-Expected-Last-Sequence", default=UNSET)
    batch: str | UnsetType = msgspec.field(name="Nats-Batch-Id", default=UNSET)
    number: str | UnsetType = msgspec.field(name="Nats-Batch-Sequence", default=UNSET)
    commit: Literal["1"] | UnsetType = msgspec.field(name="Nats-Batch-Commit", default=UNSET)


class PublicHeaders(FenceHeaders, frozen=True):
    """As for a complete record. The last message of a feed is marked, the others of a private game have the hash of its
    invite, and messages of a traced request have its trace context."""

    closes: Literal["1"] | UnsetType = msgspec.field(name=CLOSES_HEADER, default=UNSET)
    invite: str | UnsetType = msgspec.field(name=INVITE_HEADER, default=UNSET)
    trace: TraceContext | UnsetType = msgspec.field(name=TRACE_HEADER, default=UNSET)
