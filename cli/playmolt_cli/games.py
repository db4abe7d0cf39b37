"""The rules of every game that the log may hold."""

from typing import Any

from playmolt_agora.experiment import Experiment
from playmolt_agora.rules import Agora
from playmolt_core.decider import Decider
from playmolt_core.lobby import LobbyRules
from playmolt_jury import game as jury
from playmolt_legal.rules import Legal
from playmolt_ox.rules import Ox
from playmolt_trial.rules import Trial


def deciders() -> dict[str, Decider[Any]]:
    """Give id prefix → rules, lobbies included."""
    rules: tuple[Decider[Any], ...] = (Trial(), Ox(), Legal(), jury.jury(), Agora(), Experiment(), LobbyRules())
    return {decider.game: decider for decider in rules}
