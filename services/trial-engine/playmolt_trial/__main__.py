"""The trial engine's process."""

from playmolt_core.host.process import Hosted, run

from playmolt_trial.rules import Trial

if __name__ == "__main__":
    run("trial-engine", lambda _: Hosted(Trial()))
