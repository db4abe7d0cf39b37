"""How much of a day's budgets is spent, as a scrape shows it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal

from msgspec.structs import asdict

from playmolt_core.db.limits import PgLimits
from playmolt_core.ops.metrics import Sample, label
from playmolt_core.settings import Settings


class DayFigures:
    """Shares of the budgets that are set; of a key's, the share of the key that spent most."""

    def __init__(self, limits: PgLimits, settings: Settings) -> None:
        self._limits = limits
        most = {
            "tokens": Decimal(settings.day_tokens),
            "money": Decimal(settings.day_money),
            "key_tokens": Decimal(settings.key_day_tokens),
            "key_money": Decimal(settings.key_day_money),
            "key_sessions": Decimal(settings.key_day_sessions),
        }
        self._most: Mapping[str, Decimal] = {scope: limit for scope, limit in most.items() if limit}

    async def samples(self) -> list[Sample]:
        """Raises LogUnavailable."""
        if not self._most:
            return []
        spent = asdict(await self._limits.day_spent(datetime.now(UTC).date()))
        return [
            Sample("playmolt_budget_spent_ratio", float(spent[scope] / limit), label("scope", scope))
            for scope, limit in self._most.items()
        ]
