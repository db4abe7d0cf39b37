"""Budgets across all replicas: a call is counted at its worst case before it is made and corrected afterwards."""

from collections.abc import Sequence
from decimal import Decimal

import msgspec

from playmolt_core.db.pool import Pool, queries

_SQL = queries("budgets")


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """An account and its limits; None means unlimited."""

    name: str
    calls: int | None = None
    tokens: int | None = None
    money: Decimal | None = None


class ExhaustedAccount(msgspec.Struct, frozen=True, kw_only=True):
    """An account that cannot pay for a call, with what it has spent."""

    account: str
    calls: int
    tokens: int
    money: Decimal


class PgBudgets:
    """Accounts in Postgres. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def reserve(self, accounts: Sequence[Account], tokens: int, money: Decimal) -> ExhaustedAccount | None:
        """Count a call at its worst case on all accounts or on none; return the first that cannot pay."""
        short = await self._pool.row(
            _SQL["reserve"],
            [account.name for account in accounts],
            [account.calls for account in accounts],
            [account.tokens for account in accounts],
            [account.money for account in accounts],
            tokens,
            money,
        )
        return (
            None
            if short is None
            else ExhaustedAccount(account=short[0], calls=short[1], tokens=short[2], money=short[3])
        )

    async def settle(self, accounts: Sequence[Account], *, calls: int = 0, tokens: int = 0, money: Decimal) -> None:
        """Correct the counts by the difference to what the call used (negative: it used less)."""
        await self._pool.fetch(_SQL["settle"], [account.name for account in accounts], calls, tokens, money)
