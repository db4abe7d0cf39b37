"""The two streams that a shard of the log is copied to, and what a record becomes in each."""

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
    """What the relay needs of JetStream. Every method may raise BusUnavailable."""

    async def state(self, stream: str) -> StreamState | None:
        """What a stream holds; None when there is none."""
        ...

    async def ensure(self, stream: str, stored: Sequence[str], *, first: int, limit: int) -> None:
        """Make a stream that starts at `first`, unless there is one; it keeps the newest `limit` messages."""
        ...

    async def drop(self, stream: str) -> None:
        """Take a stream away with all it holds."""
        ...

    async def held(self, stream: str, sequence: int) -> StoredMessage | None: ...

    async def publish(self, messages: Sequence[StreamMessage], *, after: int) -> None:
        """Store messages behind sequence `after`: all of them, or Fenced."""
        ...

    async def tell(self, subject: str, body: bytes) -> None:
        """Publish on a plain subject; it may be lost."""
        ...


class Feed(msgspec.Struct, frozen=True):
    """A stream: its name, its subjects, and the message at sequence k made of the record at position k.

    `public`: it holds what anybody may see.
    """

    stream: str
    subjects: tuple[str, ...]
    message: Callable[[OutgoingRecord], StreamMessage]
    public: bool


def game_of(stream: str) -> str:
    """The type that a stream belongs to: what stands before the first dash."""
    return stream.partition("-")[0]


def type_of_stream(stream: str) -> str:
    """The type of game that a stream is of, a lobby's being the one it seats."""
    kind, _, rest = stream.partition("-")
    return game_of(rest) if kind == "lobby" else kind


def event_message(entry: OutgoingRecord, shards: int = 1) -> StreamMessage:
    """The full record, for services."""
    return StreamMessage(subjects.event(game_of(entry.stream), entry.stream, entry.type, shards), entry.record)


def public_message(entry: OutgoingRecord, shards: int = 1) -> StreamMessage:
    """The stored public bytes, for anybody; an empty body on a sealed subject where there are none."""
    stream = entry.stream
    if entry.public is None:
        return StreamMessage(subjects.sealed(game_of(stream), stream, shards), b"")
    headers = _CLOSES if entry.closes else {subjects.INVITE_HEADER: entry.invite} if entry.invite else {}
    if tracing.on() and (carried := trace_of(entry)):
        headers = {**headers, subjects.TRACE_HEADER: carried}
    return StreamMessage(subjects.spectate(game_of(stream), stream, shards), entry.public, headers)


def trace_of(entry: OutgoingRecord) -> str:
    """The trace context of the command that an event came of (W3C traceparent), "" unless it is sampled."""
    found = _TRACE.search(entry.record, entry.record.rfind(_METADATA))
    carried = found[1].decode() if found else ""
    return carried if tracing.sampled(carried) else ""


def same(one: StreamMessage, other: StreamMessage) -> bool:
    """Whether two messages tell the same. Whether a trace is named depends on how its relay is set up."""
    return (one.subject, one.body, _own(one)) == (other.subject, other.body, _own(other))


def _own(message: StreamMessage) -> dict[str, str]:
    return {name: value for name, value in message.headers.items() if name != subjects.TRACE_HEADER}


def feeds(shard: int, shards: int) -> tuple[Feed, Feed]:
    """The streams of a shard: the whole records, and what spectators see of them."""
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
