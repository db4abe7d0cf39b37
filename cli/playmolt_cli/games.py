"""The rules of every game that the log may hold."""

from typing import Any

from playmolt_core.game.decider import Decider
from playmolt_core.game.erasures import ErasureRules
from playmolt_core.game.lobby import LobbyRules
from playmolt_core.service.engine_module import engines
from playmolt_schemas.registry import games


def deciders() -> dict[str, Decider[Any]]:
    """Id prefix → rules, lobbies and erasures included.

    Rules are imported here and not before: a command that reads no log, `up` before all, need not wait for them.
    """
    return {"lobby": LobbyRules(), "erasure": ErasureRules(), **{game: decider_of(game) for game in games()}}


def decider_of(game: str) -> Decider[Any]:
    """The rules of one game, without the import of the others'."""
    rules: Decider[Any] = engines()[games()[game].service].deciders[game].load()()
    return rules
