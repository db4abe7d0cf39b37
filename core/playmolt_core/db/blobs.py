"""Long texts beside the log: what a record names by its hash."""

import hashlib
from collections.abc import Iterable, Mapping
from decimal import Decimal

import msgspec

from playmolt_core.db.pool import Pool, queries

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


class InFlight(msgspec.Struct, frozen=True, kw_only=True):
    """Requests of one question, `ask`, of a turn; `logged` is how many of the turn the log held before them.

    `tokens` and `money` are what was reserved for them and not yet settled.
    """

    turn: int
    agent: str
    ask: int
    logged: int
    requests: int = 1
    tokens: int = 0
    money: Decimal = Decimal(0)


class PgInFlight:
    """A mark a stream. Every method raises LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def mark(self, stream: str, request: InFlight) -> None:
        """Mark a request before it goes out; one more of the same question adds to the mark."""
        named = (request.turn, request.agent, request.ask, request.logged)
        await self._pool.fetch(_SQL["mark"], stream, *named, request.tokens, request.money)

    async def refused(self, stream: str, request: InFlight) -> None:
        """Take a request off the mark that the server had no room for."""
        await self._pool.fetch(_SQL["refused"], stream, request.tokens, request.money)

    async def settled(self, stream: str) -> None:
        """Nothing is reserved for the marked requests any more."""
        await self._pool.fetch(_SQL["settled"], stream)

    async def found(self, stream: str) -> InFlight | None:
        row = await self._pool.row(_SQL["found"], stream)
        if row is None:
            return None
        turn, agent, ask, logged, requests, tokens, money = row
        return InFlight(turn=turn, agent=agent, ask=ask, logged=logged, requests=requests, tokens=tokens, money=money)

    async def keep_reply(self, stream: str, key: str, body: str) -> None:
        """Keep a reply under the key (hex SHA-256) of its request and take the mark away, in one transaction."""
        await self._pool.fetch(_SQL["keep"], stream, bytes.fromhex(key), body)
