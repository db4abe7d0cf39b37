"""Takes out of SPECTATE what the operator hid: messages that show it, before the decision is published.

A deleted message leaves its sequence empty; who needs it asks the engine, which shows the withheld form. A stream that
is filled again from the log has that form already, so only messages that differ from what is shown now are deleted.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Final, Protocol

import msgspec
from playmolt_schemas.identifiers import TOURNAMENT_TYPES, type_of
from playmolt_schemas.records import Record
from playmolt_schemas.shards import of_shard, shard_of
from playmolt_schemas.stored import moderation as stored
from playmolt_schemas.subjects import SPECTATE_STREAM

from playmolt_core.bus.jetstream import StoredMessage, StreamState
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.db.pool import Pool, queries
from playmolt_core.game.decider import read_event
from playmolt_core.game.moderation import GAME, ModerationRules
from playmolt_core.log.port import ShardReader
from playmolt_core.log.withholding import WithheldReader
from playmolt_core.relay.feeds import PublicForm

_SQL = queries("moderation")
_RULES: Final = ModerationRules()
_read = msgspec.json.Decoder(Record).decode


class RecordPlace(msgspec.Struct, frozen=True):
    """Where a record is."""

    shard: int
    position: int


class Places(Protocol):
    """The records that a decision is about. Every method may raise LogUnavailable."""

    async def of_versions(self, stream: str, versions: Sequence[int]) -> Sequence[RecordPlace]: ...

    async def naming(self, agent_id: str) -> Sequence[RecordPlace]:
        """The records of the games in which an agent has or had a seat that contain its id."""
        ...

    async def announcing(self, tournament: str) -> Sequence[RecordPlace]:
        """The records that contain the name of a tournament."""
        ...


class PgPlaces:
    """Places in Postgres."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def of_versions(self, stream: str, versions: Sequence[int]) -> Sequence[RecordPlace]:
        return [RecordPlace(*row) for row in await self._pool.fetch(_SQL["places"], stream, versions)]

    async def naming(self, agent_id: str) -> Sequence[RecordPlace]:
        return [RecordPlace(*row) for row in await self._pool.fetch(_SQL["naming"], agent_id)]

    async def announcing(self, tournament: str) -> Sequence[RecordPlace]:
        return [RecordPlace(*row) for row in await self._pool.fetch(_SQL["announcing"], tournament)]


class WithdrawalStreams(Protocol):
    """The part of JetStream that a withdrawal uses. Every method may raise BusUnavailable."""

    async def state(self, stream: str) -> StreamState | None: ...

    async def held(self, stream: str, sequence: int) -> StoredMessage | None: ...

    async def withdraw(self, stream: str, sequence: int) -> None:
        """Delete one message; its sequence stays empty. Nothing happens if it does not exist."""
        ...


class Withdrawal:
    """Withdraws messages after decisions. Raises BusUnavailable and LogUnavailable; then it can be repeated."""

    def __init__(
        self,
        log: ShardReader,
        places: Places,
        streams: WithdrawalStreams,
        withholding: WithheldReader,
        form_of: PublicForm,
    ) -> None:
        self._log = log
        self._places = places
        self._streams = streams
        self._withholding = withholding
        self._form_of = form_of

    async def prepare(self, records: Sequence[Record]) -> None:
        """Call before messages of these records, a part of a shard, are made and published: it learns what is withheld,
        and withdraws what decisions among them hide."""
        await self._withholding.refresh()
        coming = {RecordPlace(shard_of(record.stream, self._log.shards), record.position) for record in records}
        for record in records:
            if record.stream.startswith(f"{GAME}-"):
                async for place in self._of(record):
                    await self._withdraw(place, coming)

    async def _of(self, record: Record) -> AsyncIterator[RecordPlace]:
        event = read_event(_RULES, record.type, record.schema_version, record.data)
        found: Sequence[RecordPlace] = ()
        if isinstance(event, stored.SpeechDecided):
            found = await self._places.of_versions(event.game_id, event.versions)
        elif isinstance(event, stored.NameDecided) and event.subject.startswith("agent-"):
            found = await self._places.naming(event.subject)
        elif isinstance(event, stored.NameDecided) and type_of(event.subject) in TOURNAMENT_TYPES:
            found = await self._places.announcing(event.subject)
        for place in found:
            yield place

    async def _withdraw(self, place: RecordPlace, coming: Collection[RecordPlace]) -> None:
        stream = of_shard(SPECTATE_STREAM, place.shard, self._log.shards)
        state = await self._streams.state(stream)
        if state is None or place.position < state.first:
            return
        if place.position > state.last:
            if place in coming:  # it is published in its withheld form
                return
            raise BusUnavailable(f"{stream} does not hold position {place.position} yet")
        held = await self._streams.held(stream, place.position)
        entries = await self._log.outgoing(place.position - 1, 1, place.shard) if held else ()
        if held is None or not entries or entries[0].position != place.position:
            return
        if held.message.body and held.message.body != self._form_of(_read(entries[0].record)):
            await self._streams.withdraw(stream, place.position)
