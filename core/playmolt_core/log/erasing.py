"""Erasing sessions: the key of one is destroyed and a record says so, in one transaction (docs/retention.md)."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, cast

import msgspec
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.records import ZERO_HASH, Metadata
from playmolt_schemas.shards import Places, shard_of

from playmolt_core.db.logins import VAULT_ROLE
from playmolt_core.db.pool import Connection, NotPermitted, Pool, queries
from playmolt_core.game.erasures import STREAM, ErasedBy, Erasures, SessionErased, SessionKind
from playmolt_core.game.fold import state_hash
from playmolt_core.log.chain import chain_record
from playmolt_core.log.port import NewRecord

_SQL = queries("erasing")
_TRIES: Final = 50
"""Erasures follow one another: of many at once each waits for those before it."""
_PAGE: Final = 1_000


class ErasureConflict(RuntimeError):
    """Others were faster every time: the session or the stream of erasures never stood still. Nothing was changed."""


class StoredSession(msgspec.Struct, frozen=True):
    """Whose a session is, where its records end, and whether it was erased; `owner` is "" where nobody knows any more.

    `linked`: of an erased one, the session that was begun from it.
    """

    stream: str
    owner: str
    version: int
    hash: str
    created_at: datetime
    updated_at: datetime
    erased_at: datetime | None
    erased_by: ErasedBy | None
    linked: str | None


class SessionEraser:
    """Every method raises LogUnavailable, and NotPermitted for a login that does not reach the vault."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def session(self, stream: str) -> StoredSession | None:
        """A session, erased or not; None where there is none."""
        async with self._pool.transaction() as connection:
            await _enter(connection, self._pool.role)
            return await _session(connection, stream)

    async def erase(self, stream: str, by: ErasedBy, linked: str | None = None) -> StoredSession | None:
        """Erase a session, once: said again, it gives what was. None where there is none. Raises ErasureConflict."""
        for _ in range(_TRIES):
            async with self._pool.transaction() as connection:
                await _enter(connection, self._pool.role)
                found = await _session(connection, stream)
                if found is None or found.erased_at is not None:
                    return found
                last = await connection.fetchrow(_SQL["last"])
                version, followed = (last[0], last[1].hex()) if last else (0, ZERO_HASH)
                record = _record(found, by, version + 1, followed)
                done = await connection.fetchval(
                    _SQL["erase"], stream, found.version, bytes.fromhex(found.hash), by, linked,
                    bytes.fromhex(followed), _written(record),
                )  # fmt: skip
            if done:
                return msgspec.structs.replace(found, erased_at=record.at, erased_by=by, linked=linked)
        raise ErasureConflict(f"{stream} or the stream of erasures changes too fast; nothing was changed")

    async def idle(self, kind: str, since: datetime) -> Sequence[str]:
        """Sessions of a kind in which nothing happened since a time, some of them: ask again when those are gone."""
        async with self._pool.transaction() as connection:
            await _enter(connection, self._pool.role)
            return [stream for (stream,) in await connection.fetch(_SQL["idle"], kind, since, _PAGE)]

    async def old_archives(self, before: datetime) -> Sequence[str]:
        """Names of archives in none of whose games anything happened since a time; some may be gone already."""
        async with self._pool.transaction() as connection:
            await _enter(connection, self._pool.role)
            return [name for (name,) in await connection.fetch(_SQL["old_archives"], before)]

    async def forget_texts(self, before: datetime) -> int:
        """Delete prompts and replies of experiments that nobody has used since a time; gives how many."""
        total = 0
        while True:
            async with self._pool.transaction() as connection:
                await _enter(connection, self._pool.role)
                gone = int(await connection.fetchval(_SQL["forget_texts"], before, _PAGE))
            total += gone
            if not gone:
                return total


async def _enter(connection: Connection, role: str) -> None:
    if role:
        await connection.execute(f"SET LOCAL ROLE {VAULT_ROLE}")


async def _session(connection: Connection, stream: str) -> StoredSession | None:
    row = await connection.fetchrow(_SQL["session"], stream)
    if row is None:
        return None
    owner, version, last, created_at, updated_at, erased_at, erased_by, linked = row
    return StoredSession(stream, owner, version, last.hex(), created_at, updated_at, erased_at, erased_by, linked)


def _record(session: StoredSession, by: ErasedBy, version: int, followed: str) -> NewRecord:
    kind = cast("SessionKind", session.stream.partition("-")[0])
    event = SessionErased(stream=session.stream, kind=kind, version=session.version, hash=session.hash, by=by)
    name = hashlib.sha256(f"erase {session.stream}".encode()).hexdigest()[:32]
    return chain_record(
        stream=STREAM,
        version=version,
        prev_hash=followed,
        at=datetime.now(UTC),
        event_type=event.type,
        schema_version=event.schema_version,
        data=canonical_json(event),
        metadata=Metadata(
            command_id=name,
            correlation=name,
            causation=name,
            state_hash=state_hash(Erasures(version=version, last=session.stream)),
        ),
        public=None,
        lobby=None,
        closes=False,
    )


def _written(record: NewRecord) -> str:
    head = {
        "version": record.version,
        "type": record.type,
        "schema_version": record.schema_version,
        "at": rfc3339(record.at),
        "salt": record.salt,
        "hash": record.hash,
        "data": msgspec.Raw(record.data),
        "metadata": msgspec.Raw(record.metadata),
    }
    return msgspec.json.encode(head).decode()


class Erasure(msgspec.Struct, frozen=True, array_like=True):
    """An erasure as anchors copy it."""

    stream: str
    by: ErasedBy


class ErasedHeads(msgspec.Struct, frozen=True):
    """What a log is verified against: where the records of erased sessions end, and the sessions without a key.

    `emptied` None: this login does not reach the vault, so that nobody knows of keys.
    """

    ends: Mapping[str, tuple[int, str]]
    emptied: Mapping[str, bool] | None


_read = msgspec.json.Decoder(SessionErased).decode


async def erasures_between(pool: Pool, after: Places, to: Places) -> list[Erasure]:
    """The erasures recorded after one place of the log and up to another."""
    shard = shard_of(STREAM, len(to))
    rows = await pool.fetch(_SQL["records"], after[shard], to[shard])
    return [Erasure(event.stream, event.by) for event in (_read(data) for data, _ in rows)]


async def erased_heads(pool: Pool, to: Places) -> ErasedHeads:
    """What the records of erasures up to a place say, and what the vault does, if this login may look."""
    rows = await pool.fetch(_SQL["records"], 0, to[shard_of(STREAM, len(to))])
    ends = {event.stream: (event.version, event.hash) for event in (_read(data) for data, _ in rows)}
    try:
        async with pool.transaction() as connection:
            await _enter(connection, pool.role)
            keys = [(stream, emptied) for stream, emptied in await connection.fetch(_SQL["emptied"])]
            return ErasedHeads(ends, dict(keys))
    except NotPermitted:
        return ErasedHeads(ends, None)
