"""The ledger of model calls: accounts with limits, marks of requests in flight, and replies that were kept.

`playmolt_core.llm.durable_call` is its user.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple, Protocol

import asyncpg
import msgspec
from typing_extensions import override

from playmolt_core.db.pool import Pool, queries

_SQL = queries("ledger")


class Amount(msgspec.Struct, frozen=True):
    """Usage of calls."""

    money: Decimal = Decimal(0)
    tokens: int = 0
    calls: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.money + other.money, self.tokens + other.tokens, self.calls + other.calls)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.money - other.money, self.tokens - other.tokens, self.calls - other.calls)


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """An account and its limits; None means unlimited."""

    name: str
    calls: int | None = None
    tokens: int | None = None
    money: Decimal | None = None

    @property
    def limited(self) -> bool:
        return (self.calls, self.tokens, self.money) != (None, None, None)

    def holds(self, amount: Amount) -> bool:
        pairs = ((amount.money, self.money), (amount.tokens, self.tokens), (amount.calls, self.calls))
        return all(limit is None or value <= limit for value, limit in pairs)


class LedgerEntry(NamedTuple):
    """A change of an account: what is reserved, or how a reservation is corrected (negative: less was used).

    Of an account that cannot pay, the amount is what it has spent.
    """

    account: Account
    amount: Amount


class InFlight(msgspec.Struct, frozen=True, kw_only=True):
    """Requests of one question, `ask`, of a turn; `logged` is how many of the turn the log held before them.

    `held` counts them, with what was reserved for them and is released if they are lost. One marker a `stream`.
    """

    stream: str
    turn: int = 0
    agent: str = ""
    ask: int
    logged: int
    held: Amount = Amount(calls=1)


class Ledger(Protocol):
    """Every method is one transaction, and may raise LogUnavailable."""

    async def reserve(self, entries: Sequence[LedgerEntry], mark: InFlight | None = None) -> LedgerEntry | None:
        """Count a call on all accounts or on none, and return the first that cannot pay.

        `mark` is noted with it: another request of the same question adds to the marker, one of another replaces it.
        """
        ...

    async def settle(self, entries: Sequence[LedgerEntry], mark: InFlight | None = None) -> None:
        """Correct accounts, and take the requests and amounts of `mark` off its marker."""
        ...

    async def keep(self, entries: Sequence[LedgerEntry], stream: str, key: str, body: str) -> None:
        """Store a reply under the key (hex SHA-256) of its request and correct accounts.

        Its marker, and the question that waits for a batch under this key, are deleted.
        """
        ...

    async def found(self, stream: str) -> InFlight | None:
        """The marker that a process left behind: its requests may have been paid for without a result."""
        ...


class PgLedger(Ledger):
    """In Postgres, for all replicas."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @override
    async def reserve(self, entries: Sequence[LedgerEntry], mark: InFlight | None = None) -> LedgerEntry | None:
        taken = reservation(entries)
        if mark is None:
            short = await self._pool.row(_SQL["reserve"], *taken)
        else:
            place = (mark.stream, mark.turn, mark.agent, mark.ask, mark.logged, mark.held.tokens, mark.held.money)
            short = await self._pool.row(_SQL["reserve_marked"], *taken, *place)
        return exhausted(entries, short)

    @override
    async def settle(self, entries: Sequence[LedgerEntry], mark: InFlight | None = None) -> None:
        if mark is None:
            await self._pool.fetch(_SQL["settle"], *correction(entries))
        else:
            taken = (mark.stream, mark.held.calls, mark.held.tokens, mark.held.money)
            await self._pool.fetch(_SQL["settle_marked"], *correction(entries), *taken)

    @override
    async def keep(self, entries: Sequence[LedgerEntry], stream: str, key: str, body: str) -> None:
        await self._pool.fetch(_SQL["keep"], *correction(entries), stream, bytes.fromhex(key), body)

    @override
    async def found(self, stream: str) -> InFlight | None:
        row = await self._pool.row(_SQL["found"], stream)
        if row is None:
            return None
        turn, agent, ask, logged, calls, tokens, money = row
        held = Amount(money, tokens, calls)
        return InFlight(stream=stream, turn=turn, agent=agent, ask=ask, logged=logged, held=held)


def reservation(entries: Sequence[LedgerEntry]) -> list[list[object]]:
    """The arguments of `limits.reserve`."""
    rows = ((each.name, each.calls, each.tokens, each.money, amount.tokens, amount.money) for each, amount in entries)
    return _columns(rows, 6)


def exhausted(entries: Iterable[LedgerEntry], row: asyncpg.Record | None) -> LedgerEntry | None:
    """The account that a row of `limits.reserve` names, with what it has spent."""
    if row is None:
        return None
    name, calls, tokens, money = row
    account = next(account for account, _ in entries if account.name == name)
    return LedgerEntry(account, Amount(money, tokens, calls))


def correction(entries: Iterable[LedgerEntry]) -> list[list[object]]:
    """The arguments of `limits.settle`."""
    return _columns(((account.name, amount.calls, amount.tokens, amount.money) for account, amount in entries), 4)


def _columns(rows: Iterable[Sequence[object]], count: int) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(count)]
