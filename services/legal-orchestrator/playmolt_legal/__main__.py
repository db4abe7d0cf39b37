"""The legal orchestrator's process."""

from playmolt_core.llm.scripted.model import Cast
from playmolt_core.service.process import HostedGame, ServiceContext, run

from playmolt_legal.api import LegalApi
from playmolt_legal.effects import TURN_EFFECT
from playmolt_legal.roles.scripted import ALIASES
from playmolt_legal.rules import Legal
from playmolt_legal.workers.model_worker import ModelWorker


def build(kit: ServiceContext) -> HostedGame:
    """Build the simulation of what this process has."""
    rules = Legal()
    aliases = (*ALIASES, *kit.catalogue.models)
    return HostedGame(rules, LegalApi(rules, aliases), {TURN_EFFECT: ModelWorker(kit.models(Cast()))})


if __name__ == "__main__":
    run("legal-orchestrator", build)
