"""What several commands of an experiment are refused with, and what all of them cut to size."""

from typing import Final

from playmolt_core.game.decider import Refused
from playmolt_schemas.codes import Code

from playmolt_agora.experiment.state import State

BY_CHARS: Final = 100


def no_run(run: str) -> Refused:
    return Refused(Code.NOT_FOUND, f"{run[:60]} is not a run of this experiment. GET …/runs lists them.")


def game_over(state: State) -> Refused:
    return Refused(Code.GAME_OVER, f"This experiment is {state.status}; its runs and report can be read.")
