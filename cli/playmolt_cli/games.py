"""The rules of every game that the log may hold."""

from importlib import import_module
from typing import Any

from playmolt_core.game.decider import Decider
from playmolt_core.game.lobby import LobbyRules

_RULES = {
    "trial": "playmolt_trial.rules:Trial",
    "ox": "playmolt_ox.rules:Ox",
    "legal": "playmolt_legal.rules:Legal",
    "jury": "playmolt_jury.content.game:jury",
    "agora": "playmolt_agora.run.rules:Agora",
    "experiment": "playmolt_agora.experiment.rules:Experiment",
}
"""Loaded when somebody asks: a command that reads no log, `up` before all, need not wait for them."""


def deciders() -> dict[str, Decider[Any]]:
    """Give id prefix → rules, lobbies included."""
    rules: dict[str, Decider[Any]] = {"lobby": LobbyRules()}
    for game, place in _RULES.items():
        module, _, name = place.partition(":")
        rules[game] = getattr(import_module(module), name)()
    return rules
