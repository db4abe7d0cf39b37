"""The ox engine's process."""

from playmolt_core.engine.settings import EngineSettings
from playmolt_core.game.packs.folder import entry_packs
from playmolt_core.ops.service import run_service
from playmolt_core.service.process import HostedGame, ServiceContext, hosting

from playmolt_ox.content import QUESTIONS
from playmolt_ox.rules import Ox
from playmolt_ox.state import State


def build(context: ServiceContext) -> HostedGame[State]:
    return HostedGame(Ox(packs=entry_packs(context.settings.packs, QUESTIONS)))


if __name__ == "__main__":
    run_service("ox-engine", hosting(build), EngineSettings)
