"""Accounts of budgets, in memory."""

from collections.abc import Sequence
from decimal import Decimal

from playmolt_core.db.budgets import Account, ExhaustedAccount


class MemoryBudgets:
    """Keeps them as `limits.reserve` and `limits.settle` do."""

    def __init__(self) -> None:
        self.spent: dict[str, tuple[int, int, Decimal]] = {}

    def of(self, name: str) -> tuple[int, int, Decimal]:
        return self.spent.get(name, (0, 0, Decimal(0)))

    async def reserve(self, accounts: Sequence[Account], tokens: int, money: Decimal) -> ExhaustedAccount | None:
        for account in accounts:
            calls, spent, cost = self.of(account.name)
            over = account.tokens is not None and spent + tokens > account.tokens
            if over or (account.money is not None and cost + money > account.money):
                return ExhaustedAccount(account=account.name, calls=calls, tokens=spent, money=cost)
        await self.settle(accounts, calls=1, tokens=tokens, money=money)
        return None

    async def settle(self, accounts: Sequence[Account], *, calls: int = 0, tokens: int = 0, money: Decimal) -> None:
        for account in accounts:
            before = self.of(account.name)
            self.spent[account.name] = (before[0] + calls, before[1] + tokens, before[2] + money)
