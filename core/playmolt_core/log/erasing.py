"""Erasure of sessions: destroys the key and appends a record of it, in one transaction (docs/retention.md)."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, cast

import msgspec
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.records import ZERO_HASH, Metadata
from playmolt_schemas.shards import Places, shard_of

from playmolt_core.db.logins import VAULT_ROLE
from playmolt_core.db.pool import Connection, NotPermitted, Pool, queries
from playmolt_core.game.erasures import STREAM, ErasedBy, Erasures, SessionErased, SessionKind
from playmolt_core.game.fold import state_hash
from playmolt_core.log.chain import chain_record, record_text
from playmolt_core.log.port import NewRecord

_SQL = queries("erasing")
_TRIES: Final = 50
"""Erasures form one stream: concurrent ones have to retry after each other."""
_PAGE: Final = 1_000


class ErasureConflict(RuntimeError):
    """The session or the stream of erasures changed at every attempt. Nothing was changed."""


class StoredSession(msgspec.Struct, frozen=True):
    """The owner of a session, the end of its records, and its erasure.

    `linked`: for an erased session, the session that was started from it.
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
    """Every method raises LogUnavailable, and NotPermitted for a login without access to the vault."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def session(self, stream: str) -> StoredSession | None:
        """A session, erased or not; None if it does not exist."""
        async with self._pool.transaction() as connection:
            await _enter(connection, self._pool.role)
            return await _session(connection, stream)

    async def erase(self, stream: str, by: ErasedBy, linked: str | None = None) -> StoredSession | None:
        """Erase a session. A repeat returns the first erasure. None if it does not exist. Raises ErasureConflict."""
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
                    bytes.fromhex(followed), record_text(record),
                )  # fmt: skip
            if done:
                return msgspec.structs.replace(found, erased_at=record.at, erased_by=by, linked=linked)
        raise ErasureConflict(f"{stream} or the stream of erasures changes too fast; nothing was changed: retry")

    async def idle(self, kind: str, since: datetime) -> Sequence[str]:
        """Some sessions of a kind without activity since a time. Call again after erasing them."""
        async with self._pool.transaction() as connection:
            await _enter(connection, self._pool.role)
            return [stream for (stream,) in await connection.fetch(_SQL["idle"], kind, since, _PAGE)]

    async def old_archives(self, before: datetime) -> Sequence[str]:
        """Names of archives whose games all had no activity since a time; some may be deleted already."""
        async with self._pool.transaction() as connection:
            await _enter(connection, self._pool.role)
            return [name for (name,) in await connection.fetch(_SQL["old_archives"], before)]

    async def forget_texts(self, before: datetime) -> int:
        """Delete prompts and replies of experiments that were not used since a time; return their number."""
        total = 0
        while True:
            async with self._pool.transaction() as connection:
                await _enter(connection, self._pool.role)
                deleted = int(await connection.fetchval(_SQL["forget_texts"], before, _PAGE))
            total += deleted
            if not deleted:
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
        closes=False,
    )


class Erasure(msgspec.Struct, frozen=True, array_like=True):
    """An erasure as copied into anchors."""

    stream: str
    by: ErasedBy


class ErasedHeads(msgspec.Struct, frozen=True):
    """The expected ends of erased sessions, and the sessions without a key, for verification.

    `emptied` None: this login has no access to the vault, so keys are unknown.
    """

    ends: Mapping[str, tuple[int, str]]
    emptied: Mapping[str, bool] | None


_read = msgspec.json.Decoder(SessionErased).decode


async def erasures_between(pool: Pool, after: Places, to: Places) -> list[Erasure]:
    """The erasures recorded after one place of the log, up to another."""
    shard = shard_of(STREAM, len(to))
    rows = await pool.fetch(_SQL["records"], after[shard], to[shard])
    return [Erasure(event.stream, event.by) for event in (_read(data) for data, _ in rows)]


async def erased_heads(pool: Pool, to: Places) -> ErasedHeads:
    """The erasures recorded up to a place, and the state of their keys if this login has access to the vault."""
    rows = await pool.fetch(_SQL["records"], 0, to[shard_of(STREAM, len(to))])
    ends = {event.stream: (event.version, event.hash) for event in (_read(data) for data, _ in rows)}
    try:
        async with pool.transaction() as connection:
            await _enter(connection, pool.role)
            keys = [(stream, emptied) for stream, emptied in await connection.fetch(_SQL["emptied"])]
            return ErasedHeads(ends, dict(keys))
    except NotPermitted:
        return ErasedHeads(ends, None)
