"""The event log for tools that may open sealed records; records that cannot be opened stay sealed."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace
from playmolt_schemas.identifiers import is_sealed_type
from playmolt_schemas.records import Record
from typing_extensions import override

from playmolt_core.db.pool import NotPermitted, Pool
from playmolt_core.log.port import LogEntry, Part, StoredStream
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.sealed_log import opened
from playmolt_core.vault.stream_key import StreamKey, UnsealFailed, sealed_text
from playmolt_core.vault.vault import Vault


class OpenedLog(PostgresLog):
    """`forward`, `forward_part` and `load` return an OpenedRecord if login and key file can open it."""

    def __init__(self, pool: Pool, vault: Vault, shards: int = 1) -> None:
        super().__init__(pool, shards)
        self._vault = vault
        self._keys: Mapping[str, StreamKey] = {}

    @override
    def key_of(self, stream: str, /) -> StreamKey | None:
        return self._keys.get(stream)

    @override
    async def load(self, stream: str, after: int = 0) -> StoredStream | None:
        stored = await super().load(stream, after)
        if stored is None:
            return None
        self._keys = await self._found([stream])
        return replace(stored, records=[_opened(record, self._keys.get(stream)) for record in stored.records])

    @override
    async def forward(self, after: int, limit: int, shard: int = 0) -> Sequence[LogEntry]:
        return await self._open(await super().forward(after, limit, shard))

    @override
    async def forward_part(self, after: int, limit: int, shard: int, part: Part) -> Sequence[LogEntry]:
        return await self._open(await super().forward_part(after, limit, shard, part))

    async def _open(self, entries: Sequence[LogEntry]) -> Sequence[LogEntry]:
        self._keys = await self._found({entry.record.stream for entry in entries})
        return [
            replace(entry, record=_opened(entry.record, key)) if (key := self._keys.get(entry.record.stream)) else entry
            for entry in entries
        ]

    async def _found(self, streams: Iterable[str]) -> Mapping[str, StreamKey]:
        try:
            found = await self._vault.keys(streams)
        except NotPermitted:
            return {}
        return {stream: key for stream, key in found.items() if isinstance(key, StreamKey)}


def is_sealed(record: Record) -> bool:
    """Whether a record's data cannot be read."""
    return is_sealed_type(record.stream) and sealed_text(bytes(record.data)) is not None


def _opened(record: Record, key: StreamKey | None) -> Record:
    """Open a record. One that its key does not open stays sealed; the fold then reports it."""
    if key is None:
        return record
    try:
        return opened(record, key)
    except UnsealFailed:
        return record
