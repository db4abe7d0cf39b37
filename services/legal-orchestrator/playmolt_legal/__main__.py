"""The legal orchestrator's process."""

from functools import partial

from playmolt_core.engine.settings import EngineSettings
from playmolt_core.llm.scripted.model import Cast
from playmolt_core.ops.service import run_service
from playmolt_core.service.process import HostedGame, ServiceContext, hosting
from playmolt_schemas.routes import sharing

from playmolt_legal.api import LegalApi
from playmolt_legal.effects import TURN_EFFECT
from playmolt_legal.roles.scripted import ALIASES
from playmolt_legal.rules import Legal
from playmolt_legal.state import State
from playmolt_legal.workers.model_worker import ModelWorker
from playmolt_legal.workers.pictures import SessionPictures


def build(context: ServiceContext) -> HostedGame[State]:
    rules = Legal()
    aliases = (*ALIASES, *context.catalogue.models)
    worker = ModelWorker(
        context.models(Cast()), context.texts.put, context.log, speak=partial(context.speak, rules.game)
    )
    fetches = {sharing.PICTURE: SessionPictures(rules, context.log).picture}
    return HostedGame(rules, LegalApi(rules, aliases), {TURN_EFFECT: worker}, fetches)


if __name__ == "__main__":
    run_service("legal-orchestrator", hosting(build), EngineSettings)
