"""Prices of models, and what raises a budget (agora.md, Budget)."""

from decimal import Decimal
from typing import Final

from playmolt_core.llm.catalogue import ModelEntry
from playmolt_schemas.identifiers import is_scripted
from playmolt_schemas.stored.agora.experiment import LimitName
from playmolt_schemas.stored.agora.plan import Budget

PRICES: Final = ("input_price", "output_price", "cached_price", "reasoning_price")
_LIMITS: Final[tuple[LimitName, ...]] = ("money", "tokens", "calls")
_FREE: Final = ModelEntry(base_url="", model="", input_price=Decimal(0), output_price=Decimal(0))
_UNKNOWN: Final = ModelEntry(base_url="", model="")


def with_prices(alias: str, entry: ModelEntry | None) -> ModelEntry:
    """A model with its prices: zero for a scripted one, unknown if the catalogue has none."""
    return _FREE if is_scripted(alias) else entry or _UNKNOWN


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
