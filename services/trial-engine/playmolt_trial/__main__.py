"""The trial engine's process."""

from playmolt_core.host.engine import run

from playmolt_trial.rules import Trial

if __name__ == "__main__":
    run(Trial())
