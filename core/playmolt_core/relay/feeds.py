"""The two streams of a shard of the log, and the message that each holds for a record."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, Protocol

import msgspec
from playmolt_schemas import subjects
from playmolt_schemas.identifiers import SESSION_TYPES, game_of
from playmolt_schemas.records import Record
from playmolt_schemas.registry import games
from playmolt_schemas.shards import of_shard

from playmolt_core.bus.batches import StreamMessage
from playmolt_core.bus.jetstream import StoredMessage, StreamState
from playmolt_core.engine.feed import event_message, public_message
from playmolt_core.engine.messages import message, progress
from playmolt_core.game import moderation
from playmolt_core.game.decider import PUBLIC, Decider, read_event
from playmolt_core.game.engine_module import engines
from playmolt_core.game.withholding import Withheld
from playmolt_core.log.port import OutgoingRecord

_UNPUBLISHED: Final = frozenset({"lobby", "erasure", "ownership"})
_read = msgspec.json.Decoder(Record).decode


class _Event(msgspec.Struct, frozen=True):
    """What identifies a message on its subject."""

    type: str
    version: int
    at: str


_read_event = msgspec.json.Decoder(_Event).decode


class FeedBroken(Exception):
    """A stream and the log disagree about the past. Nothing is published until an operator has decided."""


class Streams(Protocol):
    """The part of JetStream that the relay uses. Every method may raise BusUnavailable."""

    async def state(self, stream: str) -> StreamState | None:
        """The sequences in a stream; None if the stream does not exist."""
        ...

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


class FeedStream(msgspec.Struct, frozen=True):
    """A stream: its name, its subjects, and the message at sequence k for the record at position k."""

    stream: str
    subjects: tuple[str, ...]
    message: Callable[[OutgoingRecord], StreamMessage]
    withdraws: bool = False
    """Whether messages are deleted because something in them was hidden, and may show other names than today's."""


def type_of_stream(stream: str) -> str:
    """The game type of a stream; for a lobby, that of the games it fills."""
    kind, _, rest = stream.partition("-")
    return game_of(rest) if kind == "lobby" else kind


class PublicForms:
    """The public messages of records, made by the rules of their games as the engines make them, without what is
    withheld. The message of a decision says only where something changed."""

    def __init__(self, rules_of: Callable[[str], Decider], withheld: Withheld | None = None) -> None:
        self._rules_of = cache(rules_of)
        self._withheld = withheld or Withheld()

    def of(self, record: Record) -> bytes | None:
        """None for a record without a public form, or of a game that is not installed here. Raises FeedBroken."""
        game = game_of(record.stream)
        if game == moderation.GAME:
            return moderation.notice(record)
        if game in _UNPUBLISHED or game not in games():
            return None
        if game in SESSION_TYPES:
            return progress(game, record.stream, record.version, record.at)
        rules = self._rules_of(game)
        try:
            event = read_event(rules, record.type, record.schema_version, record.data)
        except (LookupError, ValueError) as error:
            raise FeedBroken(f"position {record.position}: is this relay older than the engine? {error}") from error
        event = self._withheld.shown(record.stream, record.version, event)
        return self._withheld.named(message(rules, record.stream, record.version, record.at, event, PUBLIC))


def rules_of(game: str) -> Decider:
    """The rules of a game, by its entry point."""
    rules: Decider = engines()[games()[game].service].deciders[game].load()()
    return rules


PublicForm = Callable[[Record], bytes | None]
"""The public message of a record; None if it has none."""
public_form: Final[PublicForm] = PublicForms(rules_of).of


def same(one: StreamMessage, other: StreamMessage) -> bool:
    """Whether two messages are equal apart from the trace, which depends on the settings of the relay."""
    return (one.subject, one.body, _own(one)) == (other.subject, other.body, _own(other))


def alike(one: StreamMessage, other: StreamMessage) -> bool:
    """Whether two messages are of the same event, although names or texts in them may be shown differently."""
    if one.subject != other.subject or not one.body or not other.body:
        return False
    return _read_event(one.body) == _read_event(other.body)


def _own(message: StreamMessage) -> dict[str, str]:
    return {name: value for name, value in message.headers.items() if name != subjects.TRACE_HEADER}


def feeds(shard: int, shards: int, form_of: PublicForm) -> tuple[FeedStream, FeedStream]:
    """The streams of a shard: complete records, and their public messages."""

    def event(entry: OutgoingRecord) -> StreamMessage:
        return event_message(entry.stream, entry.type, entry.record, shards)

    def public(entry: OutgoingRecord) -> StreamMessage:
        record = _read(entry.record)
        return public_message(entry.stream, form_of(record), entry.invite, bytes(record.metadata), entry.closes, shards)

    token = f"{shard}." if shards > 1 else ""
    stored = (f"spectate.{token}>", f"sealed.{token}>")
    return (
        FeedStream(of_shard(subjects.EVENTS_STREAM, shard, shards), (f"events.{token}>",), event),
        FeedStream(of_shard(subjects.SPECTATE_STREAM, shard, shards), stored, public, withdraws=True),
    )
