"""The event log of engines with sealed sessions: records are opened when they are read."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec
from msgspec.structs import asdict, replace
from playmolt_schemas.records import OpenedRecord, Record
from typing_extensions import override

from playmolt_core.db.pool import Pool
from playmolt_core.log.batch import Batch
from playmolt_core.log.port import ALL, Decided, NewKey, Outcome, StoredFacts, StoredStream, Unit
from playmolt_core.log.postgres import PostgresLog, append_on
from playmolt_core.vault import rows
from playmolt_core.vault.stream_key import StreamKey, sealed_text, to_text
from playmolt_core.vault.vault import Erased, Vault

_read_events = msgspec.json.Decoder(list[tuple[str, msgspec.Raw]]).decode


class SealedLog(PostgresLog):
    """`load`, `facts` and `outcome` raise Erased and NotOpened, too. What reads the log forward opens nothing."""

    def __init__(self, pool: Pool, vault: Vault, shards: int = 1) -> None:
        super().__init__(pool, shards)
        self._role = pool.role
        self.vault = vault

    @override
    async def _call(self, batch: Batch, units: Sequence[Unit]) -> tuple[Sequence[int], Sequence[int]]:
        new = [(place, part.key) for place, unit in enumerate(units) for part in unit.streams if part.key]
        if not new:
            return await super()._call(batch, units)
        try:
            return (), await self._call_with_keys(batch, new)
        except _InConflict as conflict:
            return conflict.places, ()

    async def _call_with_keys(self, batch: Batch, new: Sequence[tuple[int, NewKey]]) -> Sequence[int]:
        """In one transaction: a session has a key exactly when it has a record."""
        made = [self.vault.row(one.key, one.owner) for _, one in new]
        async with self._writer.use() as writer, writer.transaction():
            await rows.enter(writer, self._role)
            kept = await rows.make(writer, made)
            await rows.leave(writer, self._role)
            if places := [place for place, one in new if one.key.stream not in kept]:
                raise _InConflict(places)
            refused, bases = await append_on(writer, batch)
            if refused:
                raise _InConflict(refused)
            return bases

    @override
    def new_key(self, stream: str, /) -> StreamKey | None:
        return self.vault.new(stream)

    @contextmanager
    def _forgetting(self, stream: str) -> Iterator[None]:
        """Drop the key of an erased session from memory."""
        try:
            yield
        except Erased:
            self.vault.forget(stream)
            raise

    @override
    async def load(self, stream: str, after: int = 0) -> StoredStream | None:
        with self._forgetting(stream):
            stored = await super().load(stream, after)
        key = await self.vault.key(stream) if stored else None
        if stored is None or key is None:
            return stored
        return replace(stored, records=[opened(record, key) for record in stored.records])

    @override
    async def facts(
        self, stream: str, after: int = 0, *, most: int = ALL, commands: bool = False
    ) -> StoredFacts | None:
        with self._forgetting(stream):
            stored = await super().facts(stream, after, most=most, commands=commands)
        key = await self.vault.key(stream) if stored else None
        if stored is None or key is None:
            return stored
        return replace(stored, events=f"[{','.join(_opened_events(stored.events, key, after))}]", key=key)

    @override
    async def outcome(self, stream: str, command_id: str) -> Outcome | Decided | None:
        found = await super().outcome(stream, command_id)
        key = await self.vault.key(stream) if found else None
        if key is None or not isinstance(found, Outcome) or not found.body:
            return found
        return replace(found, body=key.open_text(f"outcome|{command_id}", found.body))


class _InConflict(Exception):
    def __init__(self, places: Sequence[int]) -> None:
        super().__init__()
        self.places = places


def opened(record: Record, key: StreamKey) -> OpenedRecord:
    """A record with its data open, and beside it what is stored, and the key to that. Raises NotOpened."""
    data = key.open_record(record.version, record.type, record.schema_version, bytes(record.data))
    fields = asdict(record) | {"data": msgspec.Raw(data), "sealed": sealed_text(bytes(record.data))}
    return OpenedRecord(**fields, seal_key=to_text(key.record_key(record.version)))


def _opened_events(events: str, key: StreamKey, after: int) -> Iterator[str]:
    for version, (tag, data) in enumerate(_read_events(events), after + 1):
        kind, _, schema_version = tag.rpartition(":")
        yield f'["{tag}",{key.open_record(version, kind, int(schema_version), bytes(data)).decode()}]'
