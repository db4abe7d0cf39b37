"""What a judge may still spend while its questions are under way. One worker alone holds it, under the lease."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from playmolt_core.llm.catalogue import decimal_text
from playmolt_schemas.agora.coding import JudgeBudget
from playmolt_schemas.agora.plan import Budget, Spent

from playmolt_agora import budget
from playmolt_agora.budget import Charge, Prices
from playmolt_agora.run.call_usage import with_call


class OverBudget(Exception):
    """The next request does not fit into the judge's budget; the message says which limit, and what to do."""


class JudgeAccount:
    """Counts requests at their worst case until they end, then at what they took."""

    def __init__(self, limits: JudgeBudget, spent: Spent, prices: Prices) -> None:
        self._limits = Budget(money=limits.money, calls=limits.calls)
        self._spent = spent
        self._prices = prices
        self._under_way: list[Charge] = []

    def worst(self, prompt_bytes: int, messages: int, max_tokens: int) -> Charge:
        return budget.worst_case(prompt_bytes, messages, max_tokens, self._prices)

    def reserve(self, prompt_bytes: int, messages: int, max_tokens: int) -> Callable[[], None]:
        """Hold the worst case of a request; gives what lets go of it. Raises OverBudget."""
        charge = self.worst(prompt_bytes, messages, max_tokens)
        reached = budget.limit_reached(self._limits, self._reserved(), Spent(), charge)
        if reached is not None:
            raise OverBudget(
                f"its budget of {reached.most} {reached.limit} does not hold the next call: raise it, and the same "
                "command goes on"
            )
        self._under_way.append(charge)
        return lambda: self._under_way.remove(charge)

    def take(self, call: dict[str, Any]) -> None:
        """Count a call that has ended, as it is stored."""
        self._spent = with_call(self._spent, call)

    def _reserved(self) -> Spent:
        """Spent, held and reserved amounts. A call of unknown cost counts as held, at its worst case."""
        known = Decimal(self._spent.known) + Decimal(self._spent.held)
        known += sum((Decimal(charge.cost or 0) for charge in self._under_way), Decimal(0))
        return Spent(
            calls=self._spent.calls + len(self._under_way),
            cost=decimal_text(known),
            known=decimal_text(known),
        )
