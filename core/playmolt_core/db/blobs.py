"""Long texts beside the log: what a record names by its hash."""

import hashlib
from collections.abc import Iterable, Mapping

from playmolt_core.db.pool import Pool
from playmolt_core.db.queries import queries

_SQL = queries("blobs")


class PgBlobs:
    """Texts under their SHA-256, and replies under the key of their request. Every method raises LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def put(self, texts: Iterable[str]) -> list[str]:
        """Keep texts; gives their hashes (hex)."""
        bodies = list(texts)
        digests = [hashlib.sha256(body.encode()).digest() for body in bodies]
        await self._pool.fetch(_SQL["put"], digests, bodies)
        return [digest.hex() for digest in digests]

    async def put_of(self, stream: str, bodies: Mapping[str, str]) -> None:
        """Keep texts of a session, which go with it, under the names (hex, 32 bytes) that they are given."""
        await self._pool.fetch(_SQL["put_of"], [bytes.fromhex(name) for name in bodies], [*bodies.values()], stream)

    async def texts(self, hashes: Iterable[str]) -> dict[str, str]:
        rows = await self._pool.fetch(_SQL["texts"], [bytes.fromhex(each) for each in hashes])
        return {digest.hex(): body for digest, body in rows}

    async def reply(self, key: str) -> str | None:
        """The reply that was kept (`PgInFlight.keep_reply`) under the key (hex SHA-256) of its request."""
        found = await self._pool.value(_SQL["reply"], bytes.fromhex(key))
        return None if found is None else str(found)
