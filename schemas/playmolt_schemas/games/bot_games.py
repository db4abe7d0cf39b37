"""The bot games side by side: what an agent sends to each, what it sees and what everybody hears."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from playmolt_schemas.games import ox, trial
from playmolt_schemas.games.game_messages import Action
from playmolt_schemas.identifiers import GameType


class BotGame(NamedTuple):
    """The messages of a bot game: action type → body, the state, the union of its public messages."""

    actions: Mapping[str, type[Action]]
    state: type
    message: Any


BOT_GAMES: Final[Mapping[GameType, BotGame]] = {
    "trial": BotGame(trial.ACTIONS, trial.TrialState, trial.TrialMessage),
    "ox": BotGame(ox.ACTIONS, ox.OxState, ox.OxMessage),
}
Phase = trial.Phase | ox.Phase
"""A phase of any of them."""
