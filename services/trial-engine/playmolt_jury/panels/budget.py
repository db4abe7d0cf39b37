"""The budget of a panel while its models are called: reserved at the worst case, settled at the actual usage."""

from collections.abc import Callable
from decimal import Decimal
from typing import Final

from playmolt_core.db.budgets import Account
from playmolt_core.llm.catalogue import Catalogue, ModelEntry
from playmolt_core.llm.day_budget import Budgets, Reservation
from playmolt_core.llm.models import Models
from playmolt_core.llm.openai.request_body import most_prompt_tokens
from playmolt_core.llm.port import Attempt, Failed, Listener, Model, ModelRequest, Record, Reply, Sending
from playmolt_schemas.identifiers import is_scripted
from playmolt_schemas.stored.panels import PanelBudget
from typing_extensions import override

_SPENT: Final = "was not called: the panel's budget is too small for the request. Raise it and resume the panel"
_UNPRICED: Final = "has no price, so it cannot be called under a budget of money; set its prices in the catalogue"


class PanelModels:
    """The models of a panel, limited to its budget. `budget` is read before each call, so that a raise counts."""

    def __init__(
        self, models: Models, catalogue: Catalogue, budgets: Budgets, panel: str, budget: Callable[[], PanelBudget]
    ) -> None:
        self._models = models
        self._catalogue = catalogue
        self._budgets = budgets
        self._panel = panel
        self._budget = budget

    def get(self, alias: str) -> Model | None:
        model = self._models.get(alias)
        return model and _Limited(model, self._catalogue.models.get(alias), self)

    def reservation(self, request: ModelRequest, entry: ModelEntry | None) -> Reservation | None:
        """The worst case of a request on the panel's account; None without a budget."""
        limits = self._budget()
        if limits == PanelBudget():
            return None
        reply = min(request.max_tokens, entry.reply_tokens or request.max_tokens) if entry else request.max_tokens
        prompt = most_prompt_tokens(request)
        money = Decimal(0) if is_scripted(request.alias) else entry.most(prompt, reply) if entry else None
        account = Account(
            name=f"panel:{self._panel}", calls=limits.calls, tokens=limits.tokens,
            money=None if limits.money is None else Decimal(limits.money),
        )  # fmt: skip
        return Reservation(self._budgets, [account], prompt + reply, money)


class PanelBudgetSpent(Exception):
    """The request does not fit into the budget of its panel."""


class _Limited(Model):
    def __init__(self, model: Model, entry: ModelEntry | None, panel: PanelModels) -> None:
        self._model = model
        self._entry = entry
        self._panel = panel

    @override
    async def ask(
        self, request: ModelRequest, record: Record, sending: Sending | None = None, listener: Listener | None = None
    ) -> Reply | Failed:
        reservation, ended = self._panel.reservation(request, self._entry), 0
        if reservation is None:
            return await self._model.ask(request, record, sending, listener)
        if is_scripted(request.alias) and (failed := await self._refused(reservation, request)):
            return failed

        async def send() -> None:
            if failed := await self._refused(reservation, request):
                raise PanelBudgetSpent(failed.detail)
            if sending is not None:
                await sending()

        async def settle(attempt: Attempt) -> None:
            nonlocal ended
            ended = attempt.number
            await reservation.settle(attempt)
            await record(attempt)

        try:
            return await self._model.ask(request, settle, send, listener)
        except PanelBudgetSpent as spent:
            return Failed(code="budget_spent", detail=str(spent), attempts=ended)

    async def _refused(self, reservation: Reservation, request: ModelRequest) -> Failed | None:
        if reservation.unpriced:
            return Failed(code="budget_spent", detail=f"{request.alias} {_UNPRICED}", attempts=0)
        if await reservation.taken() is None:
            return None
        return Failed(code="budget_spent", detail=f"{request.alias} {_SPENT}", attempts=0)
