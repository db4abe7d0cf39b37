"""Builds the panels for the trial engine, beside the jury that they play."""

from collections.abc import Callable
from functools import partial

from playmolt_core.db.budgets import PgBudgets
from playmolt_core.db.limits import PgLimits
from playmolt_core.effects.leased_effect import Submit, Worker
from playmolt_core.engine.writes.command_handler import Complete
from playmolt_core.llm.models import Models
from playmolt_core.service.process import HostedGame, ServiceContext

from playmolt_jury.chain import preload
from playmolt_jury.panels import rules
from playmolt_jury.panels.api import OPEN, REPORT, RESUME, PanelApi
from playmolt_jury.panels.budget import PanelModels
from playmolt_jury.panels.openings import PanelOpenings
from playmolt_jury.panels.player import Juries, JuryPlayer
from playmolt_jury.panels.reading import PanelReports
from playmolt_jury.panels.state import State
from playmolt_jury.rules import Jury
from playmolt_jury.settings import JurySettings
from playmolt_jury.workers.model_worker import ModelWorker
from playmolt_jury.workers.uploaded_cases import UploadedCases


def panels(
    context: ServiceContext[JurySettings], jury: Jury, uploaded: UploadedCases, models: Models
) -> HostedGame[State]:
    """The jury's engine is there by the time a worker is first asked."""
    budgets, catalogue = PgBudgets(context.pool), context.catalogue
    openings = PanelOpenings(jury, uploaded, catalogue, PgLimits(context.pool), context.settings.key_day_sessions)

    def juries() -> Juries:
        engine = context.engines["jury"]

        def submit_for(agent: str) -> Submit:
            return partial(engine.submit, agent=agent)

        return Juries(engine.submit, submit_for, engine.committed, context.log, jury)

    def turns(panel: str, present: Callable[[], State]) -> ModelWorker:
        limited = PanelModels(models, catalogue, budgets, panel, lambda: present().budget)
        return ModelWorker(jury, limited, context.texts.put, preload)

    panel = rules.Panel()
    workers: dict[str, Worker] = {rules.PLAY: JuryPlayer(juries, turns, openings.room)}
    completes: dict[str, Complete] = {OPEN: openings.complete, RESUME: openings.resumed}
    fetches = {REPORT: PanelReports(panel, jury, context.log, catalogue)}
    return HostedGame(panel, PanelApi(), workers, fetches, completes)
