"""PLAYMOLT_HOUSE_BUDGET: the daily budget of the house's models."""

from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final

from playmolt_core.db.ledger import Account
from playmolt_core.llm.file_ledger import FileLedger, MemoryLedger

ACCOUNT: Final = "house"
_NAMES: Final = ("money", "tokens", "calls")
_FORMAT: Final = "money=…, tokens=…, calls=…"


class InvalidBudget(ValueError):
    """An invalid budget; the message says why."""


def account_of(text: str) -> Account:
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
    return Account(name=ACCOUNT, money=found.get("money"), tokens=whole.get("tokens"), calls=whole.get("calls"))


class DailyLedger:
    """A ledger per UTC day, stored in a folder across restarts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._day = ""
        self._ledger = MemoryLedger()

    @property
    def today(self) -> MemoryLedger:
        day = datetime.now(UTC).date().isoformat()
        if day != self._day:
            self._day, self._ledger = day, FileLedger(ACCOUNT, self._folder / f"{day}.jsonl")
            self._delete_before(day)
        return self._ledger

    def _delete_before(self, day: str) -> None:
        for file in self._folder.glob("*.jsonl"):
            if file.stem < day:
                file.unlink(missing_ok=True)
