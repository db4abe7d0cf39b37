"""Long texts beside the log, which records name by hash, and the model call in flight of each stream."""

import asyncio
import hashlib
from collections.abc import Iterable, Mapping
from decimal import Decimal

import msgspec

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
        """The reply that `PgInFlight.keep_reply` stored under the key (hex SHA-256) of its request."""
        found = await self._pool.value(_SQL["reply"], bytes.fromhex(key))
        return None if found is None else str(found)


class PromptStore:
    """Stores texts of calls at the same time together; `put` returns once they are stored."""

    def __init__(self, blobs: PgBlobs) -> None:
        self._blobs = blobs
        self._waiting: list[str] = []
        self._next: asyncio.Task[list[str]] | None = None

    async def put(self, text: str) -> None:
        """Store a text. Raises LogUnavailable."""
        self._waiting.append(text)
        if self._next is None:
            self._next = asyncio.create_task(self._store())
        await asyncio.shield(self._next)

    async def _store(self) -> list[str]:
        await asyncio.sleep(0)  # collect the calls of this turn of the event loop
        texts, self._waiting, self._next = self._waiting, [], None
        return await self._blobs.put(texts)


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
    """One in-flight marker a stream. Every method raises LogUnavailable.

    A process that is killed leaves its marker behind: those requests may have been paid for without a result.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def mark(self, stream: str, request: InFlight) -> None:
        """Mark a request as in flight before it is sent; another one of the same question adds to the marker."""
        named = (request.turn, request.agent, request.ask, request.logged)
        await self._pool.fetch(_SQL["mark"], stream, *named, request.tokens, request.money)

    async def refused(self, stream: str, request: InFlight) -> None:
        """Remove a request from the marker: the server rejected it for lack of capacity."""
        await self._pool.fetch(_SQL["refused"], stream, request.tokens, request.money)

    async def settled(self, stream: str) -> None:
        """Note that the budget reserved for the marked requests is settled."""
        await self._pool.fetch(_SQL["settled"], stream)

    async def found(self, stream: str) -> InFlight | None:
        row = await self._pool.row(_SQL["found"], stream)
        if row is None:
            return None
        turn, agent, ask, logged, requests, tokens, money = row
        return InFlight(turn=turn, agent=agent, ask=ask, logged=logged, requests=requests, tokens=tokens, money=money)

    async def keep_reply(self, stream: str, key: str, body: str) -> None:
        """Store a reply under the key (hex SHA-256) of its request and delete the marker, in one transaction."""
        await self._pool.fetch(_SQL["keep"], stream, bytes.fromhex(key), body)
