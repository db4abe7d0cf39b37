"""Uploaded cases: their files by digest, who offers them, and which session plays which."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal, cast

import msgspec
from playmolt_schemas.canonical import Files, files_digest
from playmolt_schemas.limits import CASES_PER_KEY

from playmolt_core.db.pool import Pool, queries

_SQL = queries("packs")
OPERATOR: Final = ""
"""The owner of packs that the operator offers."""
Offering = Literal["new", "same", "taken", "full"]
_written = msgspec.msgpack.encode
_read = msgspec.msgpack.Decoder(dict[str, bytes]).decode


class Offer(msgspec.Struct, frozen=True):
    """An offered pack; `about` is the JSON that lists show of it."""

    owner: str
    id: str
    digest: str
    about: bytes
    at: datetime


class PgPacks:
    """Packs in Postgres. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def bring(self, digest: str, files: Files) -> None:
        """Upload files for an engine to check."""
        await self._pool.value(_SQL["bring"], digest, _written(files))

    async def missing(self) -> Sequence[str]:
        """Digests of packs that sessions play and no engine can load."""
        return [digest for (digest,) in await self._pool.fetch(_SQL["missing"])]

    async def played(self) -> Sequence[str]:
        """Digests of the packs of all sessions. Raises NotPermitted unless the login owns the database."""
        return [digest for (digest,) in await self._pool.fetch(_SQL["played"])]

    async def files(self, digest: str) -> Files | None:
        """The files with this digest; None if they are missing or differ from what was uploaded."""
        stored = await self._pool.value(_SQL["read"], digest)
        files = None if stored is None else _read(stored)
        return files if files is not None and files_digest(files) == digest else None

    async def offer(self, owner: str, case: str, digest: str, about: bytes) -> Offering:
        """Offer a stored pack to new sessions. It replaces the pack that its owner offered under that id."""
        found = await self._pool.value(_SQL["offer"], owner, case, digest, about.decode(), CASES_PER_KEY)
        return cast("Offering", found)

    async def offers(self, owner: str | None) -> Sequence[Offer]:
        """The packs that an owner may use, oldest first: its own and the operator's; for None, all packs."""
        rows = await self._pool.fetch(_SQL["offers"], owner)
        return [Offer(row["owner"], row["id"], row["digest"], row["about"].encode(), row["at"]) for row in rows]

    async def withdraw(self, owner: str | None, case: str) -> bool:
        """Withdraw a case; False if there is none. None, the operator, withdraws its own case, otherwise everyone's."""
        return bool(await self._pool.value(_SQL["withdraw"], owner, case))

    async def play(self, stream: str, digest: str, files: Files | None = None) -> bool:
        """Keep a pack for as long as a session plays it; False if it is neither stored nor given."""
        return bool(await self._pool.value(_SQL["play"], stream, digest, None if files is None else _written(files)))

    async def miss(self, digest: str) -> None:
        """Note that a session's pack is missing, for /readyz."""
        await self._pool.value(_SQL["miss"], digest)

    async def sweep(self, faulty: str = "") -> None:
        """Delete the packs that are neither offered nor played; the faulty one immediately."""
        await self._pool.value(_SQL["sweep"], faulty)
