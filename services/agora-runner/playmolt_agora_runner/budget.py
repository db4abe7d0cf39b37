"""The worst case of a call, and whether a budget still allows it (agora.md, Budget). Pure: counting is elsewhere.

A call is admitted on its worst case, its whole prompt and a full reply, so that no budget is ever exceeded; afterwards
the actual usage is settled.
"""

from decimal import Decimal
from typing import Final

import msgspec
from playmolt_core.llm.catalogue import ModelEntry
from playmolt_core.llm.port import ModelRequest
from playmolt_schemas.identifiers import is_scripted
from playmolt_schemas.instrument.usage import Charge, added
from playmolt_schemas.stored.agora.experiment import LimitName, Scope
from playmolt_schemas.stored.agora.plan import Budget, Limits, Spent
from playmolt_schemas.text import decimal_text

_MILLION: Final = Decimal(1_000_000)
_MESSAGE_TOKENS: Final = 16
"""Upper bound of the tokens that a server's chat template adds to each message."""


class Prices(msgspec.Struct, frozen=True):
    """Decimal strings per million tokens; None is unknown."""

    input: str | None
    output: str | None
    cached: str | None = None
    """None means the price of other prompt tokens; None for `reasoning` means that of other reply tokens."""
    reasoning: str | None = None

    @property
    def known(self) -> bool:
        return self.input is not None and self.output is not None


FREE: Final = Prices("0", "0")


class LimitReached(msgspec.Struct, frozen=True, kw_only=True):
    """The limit that a call would exceed, with advice."""

    limit: LimitName
    scope: Scope
    most: str
    spent: str
    detail: str


def prices_of(alias: str, entry: ModelEntry | None) -> Prices:
    """A model's prices: zero for a scripted one, unknown if the catalogue has none."""
    if is_scripted(alias):
        return FREE
    if entry is None or entry.input_price is None or entry.output_price is None:
        return Prices(None, None)
    own = (None if price is None else decimal_text(price) for price in (entry.cached_price, entry.reasoning_price))
    return Prices(decimal_text(entry.input_price), decimal_text(entry.output_price), *own)


def cost(prices: Prices, prompt_tokens: int, completion_tokens: int) -> str | None:
    """The cost of tokens as a decimal string; None if a price is unknown."""
    if prices.input is None or prices.output is None:
        return None
    price = prompt_tokens * Decimal(prices.input) + completion_tokens * Decimal(prices.output)
    return decimal_text(price / _MILLION)


def worst_case(request: ModelRequest, prices: Prices) -> Charge:
    """The maximum usage of a call. No tokenizer produces more tokens than a text has UTF-8 bytes."""
    prompt = sum(len(message.content.encode()) + _MESSAGE_TOKENS for message in request.messages)
    max_tokens = request.max_tokens
    dearest = Prices(_dearer(prices.input, prices.cached), _dearer(prices.output, prices.reasoning))
    return Charge(tokens=prompt + max_tokens, cost=cost(dearest, prompt, max_tokens))


def _dearer(price: str | None, other: str | None) -> str | None:
    return price if price is None or other is None or Decimal(other) <= Decimal(price) else other


def total(*costs: str | None) -> str | None:
    """Add costs; None as soon as one is unknown."""
    known = [Decimal(cost) for cost in costs if cost is not None]
    return decimal_text(sum(known, Decimal(0))) if len(known) == len(costs) else None


def limit_reached(budget: Budget, spent: Spent, spent_of_run: Spent, charge: Charge) -> LimitReached | None:
    """The first limit that a call of this worst case would exceed; None if there is none."""
    return _broken(budget, "all", added(spent, charge)) or _broken(budget.per_run, "run", added(spent_of_run, charge))


def raised(before: Budget, after: Budget) -> str:
    """Why `after` does not raise `before`; "" if no limit falls and at least one rises or disappears."""
    pairs = [
        *((name, getattr(before, name), getattr(after, name)) for name in _LIMITS),
        *((f"per_run.{name}", getattr(before.per_run, name), getattr(after.per_run, name)) for name in _LIMITS),
    ]
    for name, old, new in pairs:
        if new is not None and (old is None or Decimal(new) < Decimal(old)):
            return f"budget.{name} would go from {'no limit' if old is None else old} down to {new}; it can only rise"
    return "" if any(old != new for _, old, new in pairs) else "the budget already has these limits"


_LIMITS: Final[tuple[LimitName, ...]] = ("money", "tokens", "calls")


def _broken(limits: Limits, scope: Scope, after: Spent) -> LimitReached | None:
    if limits.calls is not None and after.calls > limits.calls:
        return _limit_reached("calls", scope, str(limits.calls), str(after.calls))
    if limits.tokens is not None and after.tokens > limits.tokens:
        return _limit_reached("tokens", scope, str(limits.tokens), str(after.tokens))
    if limits.money is not None and (after.cost is None or Decimal(after.cost) > Decimal(limits.money)):
        return _limit_reached("money", scope, limits.money, after.cost)
    return None


def _limit_reached(limit: LimitName, scope: Scope, most: str, after: str | None) -> LimitReached:
    owner = "The experiment's" if scope == "all" else "The run's"
    could = f"could bring it to {after}" if after is not None else "has no known price"
    detail = (
        f"{owner} budget of {most} {limit} is too small for the next call, which {could}. Raise it and resume: "
        "spending so far still counts, and no call is repeated."
    )
    return LimitReached(limit=limit, scope=scope, most=most, spent=after or "unknown", detail=detail)
