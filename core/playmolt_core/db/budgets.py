"""Budgets as runs reserve them, until they use `playmolt_core.llm.durable_call`."""

from collections.abc import Sequence
from decimal import Decimal

from playmolt_core.db.ledger import Account, Amount, Entry, ExhaustedAccount, PgLedger
from playmolt_core.db.pool import Pool

__all__ = ["Account", "ExhaustedAccount", "PgBudgets"]


class PgBudgets:
    """Accounts in Postgres. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._ledger = PgLedger(pool)

    async def reserve(self, accounts: Sequence[Account], tokens: int, money: Decimal) -> ExhaustedAccount | None:
        """Count a call at its worst case on all accounts or on none; return the first that cannot pay."""
        return await self._ledger.reserve([Entry(account, Amount(money, tokens, 1)) for account in accounts])

    async def settle(self, accounts: Sequence[Account], *, calls: int = 0, tokens: int = 0, money: Decimal) -> None:
        """Correct the counts by the difference to what the call used (negative: it used less)."""
        await self._ledger.settle([Entry(account, Amount(money, tokens, calls)) for account in accounts])
