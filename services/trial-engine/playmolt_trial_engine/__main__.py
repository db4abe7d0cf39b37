"""The trial engine's process: the mock trial, the AI jury and its panels."""

from playmolt_core.game.packs.folder import entry_packs
from playmolt_core.ops.service import run_service
from playmolt_core.service.process import HostedGame, ServiceContext, hosting
from playmolt_jury.hosting import build, build_panels
from playmolt_jury.persuasion import lexicon
from playmolt_jury.rules import jury
from playmolt_jury.settings import JurySettings
from playmolt_trial.content import CASES
from playmolt_trial.rules import Trial
from playmolt_trial.state import State


def preload() -> None:
    """Read the shipped case and its word lists."""
    jury()
    lexicon.prepare()


def build_trial(context: ServiceContext) -> HostedGame[State]:
    return HostedGame(Trial(packs=entry_packs(context.settings.packs, CASES)))


if __name__ == "__main__":
    run_service("trial-engine", hosting(build_trial, build, build_panels), JurySettings)
