"""The trial engine's process: the mock trial, and the AI jury beside it."""

from playmolt_core.service.process import HostedGame, run
from playmolt_jury.hosting import build
from playmolt_trial.rules import Trial

if __name__ == "__main__":
    run("trial-engine", lambda _: HostedGame(Trial()), build)
