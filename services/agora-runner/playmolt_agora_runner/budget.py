"""Prices of models, the limit that a call would exceed, and what raises a budget (agora.md, Budget)."""

from decimal import Decimal
from typing import Final

from playmolt_core.llm.catalogue import ModelEntry
from playmolt_core.llm.durable_call import AccountExhausted
from playmolt_schemas.identifiers import is_scripted
from playmolt_schemas.stored.agora.experiment import BudgetStopped, LimitName
from playmolt_schemas.stored.agora.plan import Budget
from playmolt_schemas.stored.agora.turn import RunSpec
from playmolt_schemas.text import decimal_text

PRICES: Final = ("input_price", "output_price", "cached_price", "reasoning_price")
_LIMITS: Final[tuple[LimitName, ...]] = ("money", "tokens", "calls")
_FREE: Final = ModelEntry(base_url="", model="", input_price=Decimal(0), output_price=Decimal(0))
_UNKNOWN: Final = ModelEntry(base_url="", model="")


def with_prices(alias: str, entry: ModelEntry | None) -> ModelEntry:
    """A model with its prices: zero for a scripted one, unknown if the catalogue has none."""
    return _FREE if is_scripted(alias) else entry or _UNKNOWN


def stopped(exhausted: AccountExhausted, spec: RunSpec) -> BudgetStopped:
    """The limit that refused a call of a run, with advice."""
    limit, most, after = exceeded(exhausted)
    whole = exhausted.charge.account.name == spec.experiment
    could = f"could bring it to {after}" if after is not None else "has no known price"
    detail = (
        f"{'The experiment' if whole else 'The run'}'s budget of {most} {limit} is too small for the next call, which "
        f"{could}. Raise it and resume: spending so far still counts, and no call is repeated."
    )
    return BudgetStopped(
        limit=limit, scope="all" if whole else "run", run=spec.run, most=most, spent=after or "unknown", detail=detail
    )


def exceeded(exhausted: AccountExhausted) -> tuple[LimitName, str, str | None]:
    """A limit, its value, and what the account would hold after the call; None if the price of the call is unknown."""
    account, spent, worst = exhausted.charge.account, exhausted.spent, exhausted.charge.worst
    if spent is None:
        return "money", decimal_text(account.money or Decimal(0)), None
    after: tuple[tuple[LimitName, Decimal | int | None, Decimal | int], ...] = (
        ("calls", account.calls, spent.calls + worst.calls),
        ("tokens", account.tokens, spent.tokens + worst.tokens),
        ("money", account.money, spent.money + worst.money),
    )
    return next(
        (limit, decimal_text(Decimal(most)), decimal_text(Decimal(held)))
        for limit, most, held in after
        if most is not None and held > most
    )


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
