"""The bot games side by side: what an agent sends to each, what it sees and what everybody hears."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeAlias, Union

from playmolt_schemas.games.game_messages import GameMessages
from playmolt_schemas.identifiers import GAME_TYPES
from playmolt_schemas.registry import games

WATCHED: Final[Mapping[str, GameMessages]] = {
    game.type: game.messages.load() for game in games().values() if game.messages is not None
}
"""Whatever anybody may watch: the bot games, and the runs of experiments."""
BOT_GAMES: Final[Mapping[str, GameMessages]] = {game: WATCHED[game] for game in GAME_TYPES}

if TYPE_CHECKING:
    Phase: TypeAlias = str
else:
    Phase = Union[tuple(messages.phase for messages in BOT_GAMES.values())]  # noqa: UP007 -- as many as there are
"""A phase of any of them."""
