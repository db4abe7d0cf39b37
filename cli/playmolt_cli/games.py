"""The rules of every game that the log may hold."""

from typing import Any

from playmolt_core.game.decider import Decider
from playmolt_core.game.lobby import LobbyRules
from playmolt_core.service.engine_module import engines
from playmolt_schemas.registry import games


def deciders() -> dict[str, Decider[Any]]:
    """Id prefix → rules, lobbies included.

    Rules are imported here and not before: a command that reads no log, `up` before all, need not wait for them.
    """
    rules = {game: engines()[module.service].deciders[game].load() for game, module in games().items()}
    return {"lobby": LobbyRules(), **{game: make() for game, make in rules.items()}}
