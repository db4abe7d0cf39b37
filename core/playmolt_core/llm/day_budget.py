"""Daily budgets (UTC) of model usage, in total and per key, counted across all replicas. Requests in progress, and lost
ones, count with their worst case."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Final

from playmolt_core.db.ledger import Account, Amount
from playmolt_core.llm.catalogue import ModelEntry
from playmolt_core.llm.durable_call import Charge, worst_case
from playmolt_core.llm.port import ModelRequest
from playmolt_core.settings import Settings

_UNPRICED: Final = "has no price, so it cannot be called under a money budget; set its input_price and output_price"


def account_of(day: str, payer: str = "") -> str:
    """The account of a day (YYYY-MM-DD), for one key or for all."""
    return f"day:{day}:{payer}" if payer else f"day:{day}"


class DayBudget:
    """The operator's limits of a day."""

    def __init__(self, settings: Settings, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now
        self._all = (settings.day_tokens or None, Decimal(settings.day_money) or None)
        self._key = (settings.key_day_tokens or None, Decimal(settings.key_day_money) or None)

    def charges(self, request: ModelRequest, entry: ModelEntry) -> Sequence[Charge]:
        """The worst case of a request at the prices of `entry`, on the accounts of today."""
        day, payer = self._now().date().isoformat(), request.payer
        accounts = [Account(name=account_of(day), tokens=self._all[0], money=self._all[1])]
        if payer:
            accounts.append(Account(name=account_of(day, payer), tokens=self._key[0], money=self._key[1]))
        worst = worst_case(request, entry)
        return [
            Charge(account=account, worst=worst, refusal=partial(_refusal, whose))
            for account, whose in zip(accounts, ("the", "this key's"), strict=False)
            if account.limited
        ]


def _refusal(whose: str, spent: Amount | None) -> str:
    if spent is None:
        return _UNPRICED
    return (
        f"was not called: {whose} budget of today is too small for the request; {spent.tokens} tokens and"
        f" {spent.money:f} are spent or reserved. The budget resets at midnight UTC"
    )
