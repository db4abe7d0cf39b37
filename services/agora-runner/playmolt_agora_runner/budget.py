"""The worst case of a call, and whether a budget still allows it (agora.md, Budget). Pure: counting is elsewhere.

A call is admitted on its worst case, its whole prompt and a full reply, so that no budget is ever exceeded; afterwards
the actual usage is settled.
"""

from decimal import Decimal
from typing import Final

from playmolt_core.llm.catalogue import ModelEntry
from playmolt_core.llm.port import ModelRequest
from playmolt_schemas.identifiers import is_scripted
from playmolt_schemas.instrument.usage import Charge, added
from playmolt_schemas.stored.agora.experiment import BudgetStopped, LimitName, Scope
from playmolt_schemas.stored.agora.plan import Budget, Limits, Spent
from playmolt_schemas.text import decimal_text

PRICES: Final = ("input_price", "output_price", "cached_price", "reasoning_price")
_MESSAGE_TOKENS: Final = 16
"""Upper bound of the tokens that a server's chat template adds to each message."""
_FREE: Final = ModelEntry(base_url="", model="", input_price=Decimal(0), output_price=Decimal(0))
_UNKNOWN: Final = ModelEntry(base_url="", model="")


def with_prices(alias: str, entry: ModelEntry | None) -> ModelEntry:
    """A model with its prices: zero for a scripted one, unknown if the catalogue has none."""
    return _FREE if is_scripted(alias) else entry or _UNKNOWN


def worst_case(request: ModelRequest, entry: ModelEntry) -> Charge:
    """The maximum usage of a call. No tokenizer produces more tokens than a text has UTF-8 bytes."""
    prompt = sum(len(message.content.encode()) + _MESSAGE_TOKENS for message in request.messages)
    money = entry.most(prompt, request.max_tokens)
    return Charge(tokens=prompt + request.max_tokens, cost=None if money is None else decimal_text(money))


def limit_reached(
    budget: Budget, spent: Spent, spent_of_run: Spent, charge: Charge, run: str | None = None
) -> BudgetStopped | None:
    """The first limit that a call of this worst case would exceed, with advice; None if there is none."""
    everything, of_run = added(spent, charge), added(spent_of_run, charge)
    return _broken(budget, "all", everything, run) or _broken(budget.per_run, "run", of_run, run)


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


def _broken(limits: Limits, scope: Scope, after: Spent, run: str | None) -> BudgetStopped | None:
    if limits.calls is not None and after.calls > limits.calls:
        return _stopped("calls", scope, str(limits.calls), str(after.calls), run)
    if limits.tokens is not None and after.tokens > limits.tokens:
        return _stopped("tokens", scope, str(limits.tokens), str(after.tokens), run)
    if limits.money is not None and (after.cost is None or Decimal(after.cost) > Decimal(limits.money)):
        return _stopped("money", scope, limits.money, after.cost, run)
    return None


def _stopped(limit: LimitName, scope: Scope, most: str, after: str | None, run: str | None) -> BudgetStopped:
    owner = "The experiment's" if scope == "all" else "The run's"
    could = f"could bring it to {after}" if after is not None else "has no known price"
    detail = (
        f"{owner} budget of {most} {limit} is too small for the next call, which {could}. Raise it and resume: "
        "spending so far still counts, and no call is repeated."
    )
    return BudgetStopped(limit=limit, scope=scope, run=run, most=most, spent=after or "unknown", detail=detail)
