"""Budget of model calls: each call's worst case is reserved before it is sent."""

import asyncio
from decimal import Decimal
from typing import Final

import msgspec
from playmolt_core.llm.catalogue import ModelEntry
from playmolt_core.llm.openai.request_body import most_prompt_tokens
from playmolt_core.llm.port import UNCHARGED, ModelRequest

from playmolt_cli.model_seats.calls import Calls, FinishedCall

_MILLION: Final = Decimal(1_000_000)


class BudgetExhausted(Exception):
    """The next call could exceed the budget."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits; None means unlimited."""

    money: Decimal | None = None
    tokens: int | None = None
    calls: int | None = None


class Amount(msgspec.Struct, frozen=True):
    """Usage of calls."""

    money: Decimal = Decimal(0)
    tokens: int = 0
    calls: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.money + other.money, self.tokens + other.tokens, self.calls + other.calls)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.money - other.money, self.tokens - other.tokens, self.calls - other.calls)

    def within(self, limits: Limits) -> bool:
        pairs = ((self.money, limits.money), (self.tokens, limits.tokens), (self.calls, limits.calls))
        return all(limit is None or amount <= limit for amount, limit in pairs)


class Budget:
    """Tracks spent and reserved amounts."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.spent = Amount()
        self._aside = Amount()
        self._open = 0
        self._changed = asyncio.Condition()

    async def reserve(self, worst: Amount) -> None:
        """Reserve the worst case. Waits for open calls to settle; raises BudgetExhausted if none are open."""
        async with self._changed:
            while not (self.spent + self._aside + worst).within(self.limits):
                if not self._open:
                    raise BudgetExhausted
                await self._changed.wait()
            self._aside += worst
            self._open += 1

    def learn(self, calls: Calls) -> None:
        """Count earlier finished calls; one without usage counts as a call only."""
        for call in calls.ended.values():
            self.spent += cost_of(call, Amount())

    def charge(self, worst: Amount, times: int) -> None:
        """Charge lost attempts at their worst case."""
        for _ in range(times):
            self.spent += worst

    async def settle(self, worst: Amount, cost: Amount) -> None:
        """Replace a call's reservation by its actual cost."""
        async with self._changed:
            self._aside -= worst
            self.spent += cost
            self._open -= 1
            self._changed.notify_all()


def worst_of(request: ModelRequest, entry: ModelEntry | None) -> Amount:
    """The maximum usage of a request; a scripted model costs no money."""
    prompt = most_prompt_tokens(request)
    money = Decimal(0)
    if entry is not None and entry.input_price is not None and entry.output_price is not None:
        money = (prompt * entry.input_price + request.max_tokens * entry.output_price) / _MILLION
    return Amount(money, prompt + request.max_tokens, 1)


def cost_of(call: FinishedCall, worst: Amount) -> Amount:
    """Usage of a finished call; its worst case if the server reported none; zero if the server charged nothing."""
    if call.outcome in UNCHARGED and call.usage is None:
        return Amount(calls=1)
    usage = call.usage or {}
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    tokens = worst.tokens if prompt is None or completion is None else prompt + completion
    return Amount(worst.money if call.cost is None else Decimal(call.cost), tokens, 1)
