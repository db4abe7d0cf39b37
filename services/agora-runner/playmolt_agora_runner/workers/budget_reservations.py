"""The budget of an experiment while calls are made: reserved at the worst case, settled at the actual usage."""

from collections.abc import Sequence
from decimal import Decimal

from playmolt_core.db.budgets import Account, ExhaustedAccount, PgBudgets
from playmolt_core.llm.catalogue import Catalogue
from playmolt_schemas.instrument.usage import Charge, held_by, with_call
from playmolt_schemas.stored.agora.plan import Budget, Limits, Spent
from playmolt_schemas.stored.agora.turn import RunSpec

from playmolt_agora_runner import budget
from playmolt_agora_runner.budget import LimitReached


class BudgetReservations:
    """Counts calls of a run on the budgets of its experiment and of the run. Methods raise LogUnavailable."""

    def __init__(self, budgets: PgBudgets, catalogue: Catalogue) -> None:
        self._budgets = budgets
        self._catalogue = catalogue

    async def reserve(self, spec: RunSpec, limits: Budget, alias: str, prompt_bytes: int) -> Charge | LimitReached:
        """Reserve the worst case of a call of two messages; returns it, or the exceeded limit."""
        prices = budget.prices_of(alias, self._catalogue.models.get(alias))
        charge = budget.worst_case(prompt_bytes, 2, spec.sampling.max_tokens, prices)
        accounts = _accounts(spec, limits)
        if not accounts:
            return charge
        short = await self._budgets.reserve(accounts, charge.tokens, Decimal(charge.cost or 0))
        return charge if short is None else _limit_reached(short, spec, limits, charge)

    async def give_back(self, spec: RunSpec, limits: Budget, tokens: int, money: Decimal) -> None:
        """Release reservations of lost calls; they stay counted."""
        accounts = _accounts(spec, limits)
        if accounts:
            await self._budgets.settle(accounts, tokens=-tokens, money=-money)

    async def settle(
        self, spec: RunSpec, limits: Budget, reserved: Charge, times: int, attempts: Sequence[dict[str, object]]
    ) -> None:
        """Replace `times` reserved worst cases by the actual usage; a reply without usage keeps its worst case."""
        accounts = _accounts(spec, limits)
        if not accounts:
            return
        took = Spent()
        for attempt in attempts:
            took = with_call(took, attempt)
        # What was reserved for failed calls goes back: a budget stops at what was spent.
        kept = sum(held_by(attempt) for attempt in attempts) - times
        await self._budgets.settle(
            accounts,
            calls=took.calls - times,
            tokens=took.tokens + reserved.tokens * kept,
            money=Decimal(took.known) + Decimal(reserved.cost or 0) * kept,
        )


def _accounts(spec: RunSpec, limits: Budget) -> Sequence[Account]:
    both = ((spec.experiment, limits), (spec.run, limits.per_run))
    return [_account(name, each) for name, each in both if (each.calls, each.tokens, each.money) != (None, None, None)]


def _account(name: str, limits: Limits) -> Account:
    return Account(
        name=name,
        calls=limits.calls,
        tokens=limits.tokens,
        money=None if limits.money is None else Decimal(limits.money),
    )


def _limit_reached(short: ExhaustedAccount, spec: RunSpec, limits: Budget, charge: Charge) -> LimitReached:
    money = format(short.money, "f")
    spent = Spent(calls=short.calls, tokens=short.tokens, cost=money, known=money)
    whole = short.account == spec.experiment
    reached = budget.limit_reached(limits, spent if whole else Spent(), Spent() if whole else spent, charge)
    if reached is None:
        raise RuntimeError(f"{short.account} does not hold a call that its limits hold")
    return reached
