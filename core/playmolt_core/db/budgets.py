"""Budgets over all replicas: a call is counted at its worst case before it is made, and corrected after."""

from collections.abc import Sequence
from decimal import Decimal

import msgspec

from playmolt_core.db.pool import Pool, queries

_SQL = queries("budgets")


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """What is counted under a name, and how much of it there is; None is no limit."""

    name: str
    calls: int | None = None
    tokens: int | None = None
    money: Decimal | None = None


class ExhaustedAccount(msgspec.Struct, frozen=True, kw_only=True):
    """An account that does not hold a call, with what is spent of it."""

    account: str
    calls: int
    tokens: int
    money: Decimal


class PgBudgets:
    """Accounts in Postgres. Every method raises LogUnavailable when the database is away."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def reserve(self, accounts: Sequence[Account], tokens: int, money: Decimal) -> ExhaustedAccount | None:
        """Count a call at its worst case on all accounts, or on none; gives the first account that does not hold it."""
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
        """Correct what was counted by the difference to what the call took (negative: it took less)."""
        await self._pool.fetch(_SQL["settle"], [account.name for account in accounts], calls, tokens, money)
