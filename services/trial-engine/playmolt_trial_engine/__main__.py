"""The trial engine's process: the mock trial, and the AI jury beside it."""

from playmolt_core.game.packs.folder import entry_packs
from playmolt_core.service.process import HostedGame, run
from playmolt_jury.hosting import build
from playmolt_jury.rules import jury
from playmolt_trial.content import CASES
from playmolt_trial.rules import Trial


def preload() -> None:
    """Read the shipped case."""
    jury()


if __name__ == "__main__":
    run("trial-engine", lambda context: HostedGame(Trial(packs=entry_packs(context.settings.packs, CASES))), build)
