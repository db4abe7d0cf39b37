"""What an engine publishes after a commit: records for services, public messages for spectators, lobby messages."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple, Protocol

import msgspec
from opentelemetry.trace import SpanKind
from playmolt_schemas import subjects
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.identifiers import game_of, is_lobby, rfc3339
from playmolt_schemas.shards import shard_of

from playmolt_core.bus.batches import StreamMessage
from playmolt_core.engine.messages import lobby_message
from playmolt_core.game.withholding import Withheld
from playmolt_core.log.port import NewRecord
from playmolt_core.ops import tracing

_CLOSES: Final[Mapping[str, str]] = {subjects.CLOSES_HEADER: "1"}
_encode = msgspec.json.encode


class StoredRecords(NamedTuple):
    """Records that were stored for a stream."""

    stream: str
    first: int
    """The position of the first record."""
    records: Sequence[NewRecord]
    before: GameSummary | None
    """None for a new stream."""
    after: GameSummary


class Publish(Protocol):
    def __call__(
        self, shard: int, after: int, events: Sequence[StreamMessage], public: Sequence[StreamMessage],
        stored: Callable[[], None] | None,
    ) -> None:  # fmt: skip
        """Publish to the streams of a shard after a sequence: messages for services, and as many for spectators.

        `stored` is called once all messages are stored, unless the relay has to publish some.
        """
        ...


Send = Callable[[str, bytes], None]
"""Publishes on a plain subject."""


class Feed:
    """Publishes commits. A message that is lost here is published by the relay, apart from those of the lobby."""

    def __init__(self, publish: Publish, send: Send, shards: int, withheld: Withheld | None = None) -> None:
        self._withheld = withheld or Withheld()
        self._publish = publish
        self._send = send
        self._shards = shards

    def committed(self, commits: Sequence[StoredRecords]) -> None:
        """Publish the commits of one batch. Positions are contiguous in each shard."""
        shards: dict[int, list[StoredRecords]] = defaultdict(list)
        for commit in commits:
            shards[shard_of(commit.stream, self._shards)].append(commit)
        for shard, ordered in shards.items():
            ordered.sort(key=_first)
            events = [
                event_message(commit.stream, record.type, _record_json(commit.stream, position, record), self._shards)
                for commit in ordered
                for position, record in enumerate(commit.records, commit.first)
            ]
            public = [
                public_message(
                    commit.stream, self._shown(record.public), commit.after.invite, record.metadata, record.closes,
                    self._shards,
                )
                for commit in ordered
                for record in commit.records
            ]  # fmt: skip
            stored = partial(_trace, ordered, time.time_ns()) if tracing.on() else None
            self._publish(shard, ordered[0].first - 1, events, public, stored)
        for commit in commits:
            if commit.before == commit.after or is_lobby(commit.stream):
                continue
            game, at = game_of(commit.stream), rfc3339(commit.records[-1].at)
            if entry := lobby_message(game, commit.stream, commit.before, commit.after, at):
                self._send(subjects.lobby(game), _encode(entry))

    def _shown(self, public: bytes | None) -> bytes | None:
        return None if public is None else self._withheld.named(public)


def _trace(commits: Sequence[StoredRecords], started: int) -> None:
    count = sum(len(commit.records) for commit in commits)
    for commit in commits:
        for record in commit.records:
            if carried := trace_of(record.metadata):
                facts: tracing.Attributes = {
                    "playmolt.target": commit.stream,
                    "playmolt.version": record.version,
                    "messaging.batch.message_count": count,
                }
                tracing.record(carried, "publish", started, facts, SpanKind.PRODUCER)


def _first(commit: StoredRecords) -> int:
    return commit.first


def _record_json(stream: str, position: int, record: NewRecord) -> bytes:
    """The JSON of a `Record`, byte for byte as the log gives it to the relay."""
    return (
        b'{"stream":"%b","version":%d,"position":%d,"type":"%b","schema_version":%d,"data":%b,"metadata":%b,"at":"%b",'
        b'"salt":"%b","prev_hash":"%b","hash":"%b"}'
    ) % (
        stream.encode(), record.version, position, record.type.encode(), record.schema_version, record.data,
        record.metadata, rfc3339(record.at).encode(), record.salt.encode(), record.prev_hash.encode(),
        record.hash.encode(),
    )  # fmt: skip


def event_message(stream: str, kind: str, record: bytes, shards: int = 1) -> StreamMessage:
    """The full record, for services."""
    return StreamMessage(subjects.event(game_of(stream), stream, kind, shards), record)


def public_message(
    stream: str, public: bytes | None, invite: str, metadata: bytes, closes: bool, shards: int = 1
) -> StreamMessage:
    """The message for spectators; for a record without one, an empty body on a sealed subject."""
    if public is None:
        return StreamMessage(subjects.sealed(game_of(stream), stream, shards), b"")
    headers = _CLOSES if closes else {subjects.INVITE_HEADER: invite} if invite else {}
    if tracing.on() and (carried := trace_of(metadata)):
        headers = {**headers, subjects.TRACE_HEADER: carried}
    return StreamMessage(subjects.spectate(game_of(stream), stream, shards), public, dict(headers))


def trace_of(metadata: bytes) -> str:
    """The trace context of the command that caused an event (W3C traceparent); "" unless it is sampled."""
    _, found, rest = metadata.rpartition(b'"trace":"')
    carried = rest.partition(b'"')[0].decode() if found else ""
    return carried if tracing.sampled(carried) else ""
