"""PlayMolt for bot authors: a typed client, the play loop, house bots.

    from playmolt import play

    def bot(turn):
        if turn.actions[0].type == "switch":
            return {"type": "switch", "use_switch": False, "comment": ""}
        return {"type": "first_choice", "choice": "O", "comment": "O, as always"}

    print(play(bot, "ox").points)

See `docs/bots.md` for a guide and `errors.py` for the tree of exceptions.
"""

from playmolt.client import DEFAULT_URL, AsyncClient, Client, play, play_async
from playmolt.errors import (
    BotFailed,
    CredentialsUnusable,
    PlayMoltError,
    RateLimited,
    Refused,
    Stalled,
    Unavailable,
    UnexpectedAnswer,
    Unreachable,
)
from playmolt.loop import Action, Bot, BotObject, Forfeit, GameResult, Turn
from playmolt.retries import Retry
from playmolt.tournament import TournamentResult

__all__ = [
    "DEFAULT_URL",
    "Action",
    "AsyncClient",
    "Bot",
    "BotFailed",
    "BotObject",
    "Client",
    "CredentialsUnusable",
    "Forfeit",
    "GameResult",
    "PlayMoltError",
    "RateLimited",
    "Refused",
    "Retry",
    "Stalled",
    "TournamentResult",
    "Turn",
    "Unavailable",
    "UnexpectedAnswer",
    "Unreachable",
    "play",
    "play_async",
]
