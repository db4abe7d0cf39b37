"""What models may cost altogether: the worst case of a call is set aside before it goes out."""

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
    """The next call could cost more than is left."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """None: no limit."""

    money: Decimal | None = None
    tokens: int | None = None
    calls: int | None = None


class Amount(msgspec.Struct, frozen=True):
    """What calls come to."""

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
    """Counts what was spent and what is set aside."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.spent = Amount()
        self._aside = Amount()
        self._open = 0
        self._changed = asyncio.Condition()

    async def reserve(self, worst: Amount) -> None:
        """Set the worst case aside; waits for calls that are open, raises BudgetExhausted when none is left to wait for."""
        async with self._changed:
            while not (self.spent + self._aside + worst).within(self.limits):
                if not self._open:
                    raise BudgetExhausted
                await self._changed.wait()
            self._aside += worst
            self._open += 1

    def learn(self, calls: Calls) -> None:
        """Count the calls that ended before; one without figures as a call alone."""
        for call in calls.ended.values():
            self.spent += cost_of(call, Amount())

    def charge(self, worst: Amount, times: int) -> None:
        """Count attempts that never came back as what they may have come to."""
        for _ in range(times):
            self.spent += worst

    async def settle(self, worst: Amount, cost: Amount) -> None:
        """Take what the call came to in the place of its worst case."""
        async with self._changed:
            self._aside -= worst
            self.spent += cost
            self._open -= 1
            self._changed.notify_all()


def worst_of(request: ModelRequest, entry: ModelEntry | None) -> Amount:
    """What one request can come to at most; a scripted model costs no money."""
    prompt = most_prompt_tokens(request)
    money = Decimal(0)
    if entry is not None and entry.input_price is not None and entry.output_price is not None:
        money = (prompt * entry.input_price + request.max_tokens * entry.output_price) / _MILLION
    return Amount(money, prompt + request.max_tokens, 1)


def cost_of(call: FinishedCall, worst: Amount) -> Amount:
    """What a call came to: its figures, its worst case where the server gave none, nothing where it charged nothing."""
    if call.outcome in UNCHARGED and call.usage is None:
        return Amount(calls=1)
    usage = call.usage or {}
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    tokens = worst.tokens if prompt is None or completion is None else prompt + completion
    return Amount(worst.money if call.cost is None else Decimal(call.cost), tokens, 1)
