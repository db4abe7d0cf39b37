"""PLAYMOLT_HOUSE_BUDGET: what the house's models may come to in a day."""

from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Final

from playmolt_cli.model_seats.budget import Budget, Limits

_NAMES: Final = ("money", "tokens", "calls")


class BadBudget(ValueError):
    """A text that says no budget; the message says why."""


def limits_of(text: str) -> Limits:
    """`money=1.5,tokens=400000,calls=2000`, each at most once; "" is no limit. Raises BadBudget."""
    found: dict[str, Decimal] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.partition("=")
        if name not in _NAMES or name in found:
            raise BadBudget(f"PLAYMOLT_HOUSE_BUDGET: {part!r}; write {', '.join(f'{known}=…' for known in _NAMES)}")
        try:
            found[name] = Decimal(value)
        except InvalidOperation:
            raise BadBudget(f"PLAYMOLT_HOUSE_BUDGET: {part!r} is no number") from None
        if not found[name].is_finite() or found[name] <= 0 or (name != "money" and found[name] % 1):
            raise BadBudget(f"PLAYMOLT_HOUSE_BUDGET: {part!r} must be above 0{'' if name == 'money' else ' and whole'}")
    whole = {name: int(value) for name, value in found.items() if name != "money"}
    return Limits(money=found.get("money"), tokens=whole.get("tokens"), calls=whole.get("calls"))


class Days:
    """A budget a day, by UTC; what was spent on a day before counts no more."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._day = ""
        self._budget = Budget(limits)

    @property
    def today(self) -> Budget:
        day = datetime.now(UTC).date().isoformat()
        if day != self._day:
            self._day, self._budget = day, Budget(self._limits)
        return self._budget
