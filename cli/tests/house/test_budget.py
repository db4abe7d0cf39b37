"""What the house's models may come to in a day, as an operator writes it."""

from decimal import Decimal

import pytest
from playmolt_cli.house.budget import ACCOUNT, InvalidBudget, account_of
from playmolt_core.db.ledger import Account


def test_each_limit_is_said_once_or_not_at_all() -> None:
    assert account_of("") == Account(name=ACCOUNT)
    assert account_of("money=1.50, tokens=400000,calls=2000") == Account(
        name=ACCOUNT, money=Decimal("1.50"), tokens=400_000, calls=2_000
    )


@pytest.mark.parametrize(
    "text", ["money", "money=", "money=-1", "money=NaN", "calls=1.5", "calls=1,calls=2", "euros=1"]
)
def test_what_says_no_budget_is_refused_with_the_part_at_fault(text: str) -> None:
    with pytest.raises(InvalidBudget, match="PLAYMOLT_HOUSE_BUDGET"):
        account_of(text)
