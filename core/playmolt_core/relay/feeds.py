"""The two streams of a shard of the log, and the message that each holds for a record."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import msgspec
from playmolt_schemas import subjects
from playmolt_schemas.shards import of_shard

from playmolt_core.bus.jetstream import StoredMessage, StreamMessage, StreamState
from playmolt_core.log.port import OutgoingRecord
from playmolt_core.ops import tracing

_CLOSES = {subjects.CLOSES_HEADER: "1"}
_METADATA = b',"metadata":'
_TRACE = re.compile(rb'"trace":"(00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2})"')


class Streams(Protocol):
    """The part of JetStream that the relay uses. Every method may raise BusUnavailable."""

    async def ensure(self, stream: str, stored: Sequence[str], *, first: int, limit: int) -> StreamState:
        """Create a stream that starts at `first` unless it exists; it keeps the newest `limit` messages."""
        ...

    async def drop(self, stream: str) -> None:
        """Delete a stream with all its messages."""
        ...

    async def held(self, stream: str, sequence: int) -> StoredMessage | None: ...

    async def publish(self, messages: Sequence[StreamMessage], *, after: int) -> None:
        """Store messages after sequence `after`: all of them, or raise Fenced."""
        ...

    async def send(self, subject: str, body: bytes) -> None:
        """Publish on a plain subject; the message may be lost."""
        ...


class Feed(msgspec.Struct, frozen=True):
    """A stream: its name, its subjects, and the message at sequence k for the record at position k.

    `public`: anyone may see its messages.
    """

    stream: str
    subjects: tuple[str, ...]
    message: Callable[[OutgoingRecord], StreamMessage]
    public: bool


def game_of(stream: str) -> str:
    """The type of a stream: its name up to the first dash."""
    return stream.partition("-")[0]


def type_of_stream(stream: str) -> str:
    """The game type of a stream; for a lobby, that of the games it fills."""
    kind, _, rest = stream.partition("-")
    return game_of(rest) if kind == "lobby" else kind


def event_message(entry: OutgoingRecord, shards: int = 1) -> StreamMessage:
    """The full record, for services."""
    return StreamMessage(subjects.event(game_of(entry.stream), entry.stream, entry.type, shards), entry.record)


def public_message(entry: OutgoingRecord, shards: int = 1) -> StreamMessage:
    """The stored public bytes; for a record without, an empty body on a sealed subject."""
    stream = entry.stream
    if entry.public is None:
        return StreamMessage(subjects.sealed(game_of(stream), stream, shards), b"")
    headers = _CLOSES if entry.closes else {subjects.INVITE_HEADER: entry.invite} if entry.invite else {}
    if tracing.on() and (carried := trace_of(entry)):
        headers = {**headers, subjects.TRACE_HEADER: carried}
    return StreamMessage(subjects.spectate(game_of(stream), stream, shards), entry.public, headers)


def trace_of(entry: OutgoingRecord) -> str:
    """The trace context of the command that caused an event (W3C traceparent); "" unless it is sampled."""
    found = _TRACE.search(entry.record, entry.record.rfind(_METADATA))
    carried = found[1].decode() if found else ""
    return carried if tracing.sampled(carried) else ""


def same(one: StreamMessage, other: StreamMessage) -> bool:
    """Whether two messages are equal apart from the trace, which depends on the settings of the relay."""
    return (one.subject, one.body, _own(one)) == (other.subject, other.body, _own(other))


def _own(message: StreamMessage) -> dict[str, str]:
    return {name: value for name, value in message.headers.items() if name != subjects.TRACE_HEADER}


def feeds(shard: int, shards: int) -> tuple[Feed, Feed]:
    """The streams of a shard: complete records, and their public messages."""
    token = f"{shard}." if shards > 1 else ""
    return (
        Feed(
            of_shard(subjects.EVENTS_STREAM, shard, shards), (f"events.{token}>",),
            partial(event_message, shards=shards), public=False,
        ),
        Feed(
            of_shard(subjects.SPECTATE_STREAM, shard, shards), (f"spectate.{token}>", f"sealed.{token}>"),
            partial(public_message, shards=shards), public=True,
        ),
    )  # fmt: skip
