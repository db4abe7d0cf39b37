"""Which model call of a stream is on its way: what a process that is killed may have asked for nothing."""

from decimal import Decimal

import msgspec

from playmolt_core.db.pool import Pool
from playmolt_core.db.queries import queries

_SQL = queries("in_flight")


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
