"""PLAYMOLT_HOUSE_BUDGET: the daily budget of the house's models."""

import os
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final

import msgspec
from typing_extensions import override

from playmolt_cli.model_seats.budget import Amount, Budget, Limits
from playmolt_cli.model_seats.calls import whole_lines

_NAMES: Final = ("money", "tokens", "calls")
_FORMAT: Final = "money=…, tokens=…, calls=…"


class InvalidBudget(ValueError):
    """An invalid budget; the message says why."""


def limits_of(text: str) -> Limits:
    """Read `money=1.5,tokens=400000,calls=2000`, each at most once; "" means no limit. Raises InvalidBudget."""
    found: dict[str, Decimal] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.partition("=")
        if name not in _NAMES or name in found:
            raise InvalidBudget(f"PLAYMOLT_HOUSE_BUDGET: invalid part {part!r}. Use {_FORMAT}, each once.")
        try:
            found[name] = Decimal(value)
        except InvalidOperation:
            raise InvalidBudget(f"PLAYMOLT_HOUSE_BUDGET: {part!r} is not a number") from None
        if not found[name].is_finite() or found[name] <= 0 or (name != "money" and found[name] % 1):
            raise InvalidBudget(
                f"PLAYMOLT_HOUSE_BUDGET: {part!r} must be a positive {'number' if name == 'money' else 'whole number'}"
            )
    whole = {name: int(value) for name, value in found.items() if name != "money"}
    return Limits(money=found.get("money"), tokens=whole.get("tokens"), calls=whole.get("calls"))


class StoredBudget(Budget):
    """A budget stored in a file, one line per change. A reservation that was never settled counts as spent."""

    def __init__(self, limits: Limits, path: Path) -> None:
        super().__init__(limits)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        for line in whole_lines(path):
            self.spent += msgspec.convert(line, Amount, strict=False)

    @override
    async def reserve(self, worst: Amount) -> None:
        await super().reserve(worst)
        self._keep(worst)

    @override
    async def settle(self, worst: Amount, cost: Amount) -> None:
        self._keep(cost - worst)
        await super().settle(worst, cost)

    @override
    def charge(self, worst: Amount, times: int) -> None:
        """Lost calls are already reserved in the file."""

    def _keep(self, change: Amount) -> None:
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(change) + b"\n")
            file.flush()
            os.fsync(file.fileno())


class DailyBudget:
    """A budget per UTC day, stored in a folder across restarts."""

    def __init__(self, limits: Limits, folder: Path) -> None:
        self._limits = limits
        self._folder = folder
        self._day = ""
        self._budget = Budget(limits)

    @property
    def today(self) -> Budget:
        day = datetime.now(UTC).date().isoformat()
        if day != self._day:
            self._day, self._budget = day, StoredBudget(self._limits, self._folder / f"{day}.jsonl")
            self._delete_before(day)
        return self._budget

    def _delete_before(self, day: str) -> None:
        for file in self._folder.glob("*.jsonl"):
            if file.stem < day:
                file.unlink(missing_ok=True)
