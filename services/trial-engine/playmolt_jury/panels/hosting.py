"""Builds the panels for the trial engine, beside the jury that they play."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Final

from playmolt_core.db.ledger import Account, Amount
from playmolt_core.db.limits import PgLimits
from playmolt_core.effects.leased_effect import Submit, Worker
from playmolt_core.engine.writes.command_handler import Complete
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.durable_call import Charge, worst_case
from playmolt_core.llm.models import Models
from playmolt_core.llm.port import Model, ModelRequest
from playmolt_core.service.process import HostedGame, ServiceContext
from playmolt_schemas.stored.panels import PanelBudget

from playmolt_jury.chain import preload
from playmolt_jury.panels import rules
from playmolt_jury.panels.api import OPEN, REPORT, RESUME, PanelApi
from playmolt_jury.panels.openings import PanelOpenings
from playmolt_jury.panels.player import Juries, JuryPlayer
from playmolt_jury.panels.reading import PanelReports
from playmolt_jury.panels.state import PanelState
from playmolt_jury.rules import Jury
from playmolt_jury.settings import JurySettings
from playmolt_jury.workers.model_worker import ModelWorker
from playmolt_jury.workers.uploaded_cases import UploadedCases

_SPENT: Final = "was not called: the panel's budget is too small for the request. Raise it and resume the panel"
_UNPRICED: Final = "has no price, so it cannot be called under a budget of money; set its prices in the catalogue"


class PanelModels:
    """The models of a panel, limited to its budget. `budget` is read before each call, so that a raise counts."""

    def __init__(self, models: Models, catalogue: Catalogue, panel: str, budget: Callable[[], PanelBudget]) -> None:
        self._models = models
        self._catalogue = catalogue
        self._panel = panel
        self._budget = budget

    def get(self, alias: str) -> Model | None:
        return self._models.get(alias, self._charges)

    def _charges(self, request: ModelRequest) -> Sequence[Charge]:
        limits = self._budget()
        worst = worst_case(request, self._catalogue.models.get(request.alias))
        account = Account(
            name=f"panel:{self._panel}", calls=limits.calls, tokens=limits.tokens,
            money=None if limits.money is None else Decimal(limits.money),
        )  # fmt: skip
        return [Charge(account=account, worst=worst, refusal=_refusal)] if account.limited else []


def _refusal(spent: Amount | None) -> str:
    return _UNPRICED if spent is None else _SPENT


def panels(
    context: ServiceContext[JurySettings], jury: Jury, uploaded: UploadedCases, models: Models
) -> HostedGame[PanelState]:
    """The jury's engine is there by the time a worker is first asked."""
    catalogue = context.catalogue
    openings = PanelOpenings(jury, uploaded, catalogue, PgLimits(context.pool), context.settings.key_day_sessions)

    def juries() -> Juries:
        engine = context.engines["jury"]

        def submit_for(agent: str) -> Submit:
            return partial(engine.submit, agent=agent)

        return Juries(engine.submit, submit_for, engine.committed, context.log, jury)

    def turns(panel: str, present: Callable[[], PanelState]) -> ModelWorker:
        limited = PanelModels(models, catalogue, panel, lambda: present().budget)
        return ModelWorker(jury, limited, context.texts.put, preload)

    panel = rules.Panel()
    workers: dict[str, Worker] = {rules.PLAY: JuryPlayer(juries, turns, openings.room)}
    completes: dict[str, Complete] = {OPEN: openings.complete, RESUME: openings.resumed}
    fetches = {REPORT: PanelReports(panel, jury, context.log, catalogue)}
    return HostedGame(panel, PanelApi(), workers, fetches, completes)
