"""Seals and opens stored records: a codec that a log is given."""

from collections.abc import Iterable, Mapping
from typing import Final, Protocol

import msgspec
from msgspec.structs import asdict, replace
from playmolt_schemas.identifiers import is_sealed_type
from playmolt_schemas.records import OpenedRecord, Record
from typing_extensions import override

from playmolt_core.db.pool import NotPermitted
from playmolt_core.log.port import Decided, LogEntry, NewKey, Outcome
from playmolt_core.vault.rows import KeyRow
from playmolt_core.vault.stream_key import StreamKey, UnsealFailed, sealed_text, to_text
from playmolt_core.vault.vault import Vault

_read_events = msgspec.json.Decoder(list[tuple[str, msgspec.Raw]]).decode


class Codec(Protocol):
    """Every coroutine may raise LogUnavailable."""

    def new_key(self, stream: str, /) -> StreamKey | None:
        """A key to seal a new stream's records; None if they are not sealed."""
        ...

    def row(self, new: NewKey, /) -> KeyRow:
        """The row of a new key, to store together with the stream's first record. Raises InvalidKeyFile."""
        ...

    def forget(self, stream: str, /) -> None:
        """Drop the key of an erased session from memory."""
        ...

    async def key(self, stream: str, /) -> StreamKey | None:
        """The key that opens one stream, for reads of streams; None if it stays as it is stored."""
        ...

    async def keys(self, streams: Iterable[str], /) -> Mapping[str, StreamKey]:
        """The keys that open some streams, for reads of shards; the others stay as they are stored."""
        ...

    def opened(self, record: Record, key: StreamKey, /) -> Record: ...


class Unopened:
    """The codec of logs without sessions: nothing is sealed or opened."""

    def new_key(self, _: str, /) -> StreamKey | None:
        return None

    def row(self, new: NewKey, /) -> KeyRow:
        raise RuntimeError(f"the log has no codec that stores the key of {new.key.stream}")

    def forget(self, _: str, /) -> None:
        """It has no keys."""

    async def key(self, _: str, /) -> StreamKey | None:
        return None

    async def keys(self, _: Iterable[str], /) -> Mapping[str, StreamKey]:
        return {}

    def opened(self, record: Record, key: StreamKey, /) -> Record:
        return opened(record, key)


UNOPENED: Final = Unopened()


class SessionCodec(Unopened):
    """The codec of an engine with sessions. Reads of a stream raise Erased and UnsealFailed, too.

    Reads of shards open nothing.
    """

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    @override
    def new_key(self, stream: str, /) -> StreamKey | None:
        return self._vault.new(stream)

    @override
    def row(self, new: NewKey, /) -> KeyRow:
        return self._vault.row(new.key, new.owner)

    @override
    def forget(self, stream: str, /) -> None:
        self._vault.forget(stream)

    @override
    async def key(self, stream: str, /) -> StreamKey | None:
        return await self._vault.key(stream)


class ToolCodec(Unopened):
    """The codec of tools: what their login and key file cannot open stays sealed."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    @override
    async def key(self, stream: str, /) -> StreamKey | None:
        return (await self.keys([stream])).get(stream)

    @override
    async def keys(self, streams: Iterable[str], /) -> Mapping[str, StreamKey]:
        if not (sealed := {stream for stream in streams if is_sealed_type(stream)}):
            return {}
        try:
            found = await self._vault.keys(sealed)
        except NotPermitted:
            return {}
        return {stream: key for stream, key in found.items() if isinstance(key, StreamKey)}

    @override
    def opened(self, record: Record, key: StreamKey, /) -> Record:
        try:
            return opened(record, key)
        except UnsealFailed:  # the fold reports it
            return record


def opened(record: Record, key: StreamKey) -> OpenedRecord:
    """A record with its data open, and beside it what is stored, and the key to that. Raises UnsealFailed."""
    data = key.open_record(record.version, record.type, record.schema_version, bytes(record.data))
    fields = asdict(record) | {"data": msgspec.Raw(data), "sealed": sealed_text(bytes(record.data))}
    return OpenedRecord(**fields, seal_key=to_text(key.record_key(record.version)))


def opened_entry(entry: LogEntry, codec: Codec, keys: Mapping[str, StreamKey]) -> LogEntry:
    key = keys.get(entry.record.stream)
    return replace(entry, record=codec.opened(entry.record, key), key=key) if key else entry


async def opened_outcome(found: Outcome | Decided, codec: Codec, stream: str) -> Outcome | Decided:
    key = await codec.key(stream)
    if key is None or not isinstance(found, Outcome) or not found.body:
        return found
    return replace(found, body=key.open_text(f"outcome|{found.command_id}", found.body))


def opened_events(events: str, key: StreamKey, after: int) -> str:
    """The `events` of `StoredFacts` after a version, opened. Raises UnsealFailed."""
    found = []
    for version, (tag, data) in enumerate(_read_events(events), after + 1):
        kind, _, schema_version = tag.rpartition(":")
        found.append(f'["{tag}",{key.open_record(version, kind, int(schema_version), bytes(data)).decode()}]')
    return f"[{','.join(found)}]"


def is_sealed(record: Record) -> bool:
    """Whether a record's data cannot be read."""
    return is_sealed_type(record.stream) and sealed_text(bytes(record.data)) is not None
