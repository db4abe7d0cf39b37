"""Long texts beside the log, which records name by hash."""

import asyncio
import hashlib
from collections.abc import Iterable, Mapping

from playmolt_core.db.pool import Pool, queries

_SQL = queries("blobs")


class PgBlobs:
    """Texts by SHA-256, and replies by the key of their request. Every method raises LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def put(self, texts: Iterable[str]) -> list[str]:
        """Store texts and return their hashes (hex)."""
        bodies = list(texts)
        digests = [hashlib.sha256(body.encode()).digest() for body in bodies]
        await self._pool.fetch(_SQL["put"], digests, bodies)
        return [digest.hex() for digest in digests]

    async def put_of(self, stream: str, bodies: Mapping[str, str]) -> None:
        """Store texts of a session under the given names (hex, 32 bytes). They are deleted with the session."""
        await self._pool.fetch(_SQL["put_of"], [bytes.fromhex(name) for name in bodies], [*bodies.values()], stream)

    async def texts(self, hashes: Iterable[str]) -> dict[str, str]:
        rows = await self._pool.fetch(_SQL["texts"], [bytes.fromhex(each) for each in hashes])
        return {digest.hex(): body for digest, body in rows}

    async def reply(self, key: str) -> str | None:
        """The reply that `PgLedger.keep` stored under the key (hex SHA-256) of its request."""
        found = await self._pool.value(_SQL["reply"], bytes.fromhex(key))
        return None if found is None else str(found)


class PromptStore:
    """Stores texts of calls at the same time together."""

    def __init__(self, blobs: PgBlobs) -> None:
        self._blobs = blobs
        self._waiting: list[str] = []
        self._next: asyncio.Task[list[str]] | None = None

    async def put(self, text: str) -> str:
        """Store a text and return its hash (hex). Raises LogUnavailable."""
        place = len(self._waiting)
        self._waiting.append(text)
        if self._next is None:
            self._next = asyncio.create_task(self._store())
        return (await asyncio.shield(self._next))[place]

    async def _store(self) -> list[str]:
        await asyncio.sleep(0)  # collect the calls of this turn of the event loop
        texts, self._waiting, self._next = self._waiting, [], None
        return await self._blobs.put(texts)
